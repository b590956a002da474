import fs from "node:fs/promises";
import path from "node:path";

let counter = 0;

/** Replaces a file in one step: a reader, also after a crash, finds the old content or the new, whole. Mode 0600. */
export async function writeAtomically(file: string, data: Uint8Array | string, durable: boolean): Promise<void> {
  await fs.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  counter += 1;
  const temporary = `${file}.${process.pid}.${counter}.tmp`;
  try {
    const handle = await fs.open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(data);
      if (durable) await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(temporary, file);
  } catch (error) {
    await fs.rm(temporary, { force: true });
    throw error;
  }
}

/** A file's content, or undefined when there is none. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await fs.readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
