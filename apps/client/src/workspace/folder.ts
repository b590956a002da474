import fs from "node:fs/promises";
import path from "node:path";

/** Where a path of the server leads. */
export type Located =
  | {
      readonly ok: true;
      /** Without symbolic links (but see `entry`); every file operation uses it. */
      readonly real: string;
      /** From the folder; the whole path where it lies in a further readable directory. */
      readonly relative: string;
      /** In the folder itself. */
      readonly inside: boolean;
      readonly writable: boolean;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * The one folder that the tools may touch. A path that leads elsewhere, by `..`, as an absolute path or through a
 * symbolic link (also one that points at nothing), is refused; so is version control's own folder for writing.
 */
export class Folder {
  /** The folder without symbolic links. */
  readonly root: string;
  /** The folder as it was named; absolute paths may begin with either form. */
  readonly #given: string;
  readonly #readable: readonly string[];

  private constructor(given: string, root: string, readable: readonly string[]) {
    this.#given = given;
    this.root = root;
    this.#readable = readable;
  }

  /**
   * Opens a folder; throws when it is not there or not a directory. `readable` names further directories, made by this
   * client itself (output of commands), that may be read but not changed.
   */
  static async open(given: string, readable: readonly string[] = []): Promise<Folder> {
    const absolute = path.resolve(given);
    const root = await fs.realpath(absolute);
    if (!(await fs.stat(root)).isDirectory()) throw new Error(`${given} is not a folder`);
    return new Folder(absolute, root, await Promise.all(readable.map((one) => fs.realpath(one))));
  }

  /** Where `wanted` leads when it is followed to its end. Relative paths and the empty one start at the folder. */
  async locate(wanted: string): Promise<Located> {
    const target = this.#absolute(wanted);
    if (target === undefined) return refuse("the path contains a NUL character");
    const real = await resolveLinks(target);
    return real === undefined ? refuse("a symbolic link on the path leads nowhere") : this.#judge(real);
  }

  /** Like `locate`, but a symbolic link at the very end is not followed: for removing the link itself. */
  async entry(wanted: string): Promise<Located> {
    const target = this.#absolute(wanted);
    if (target === undefined) return refuse("the path contains a NUL character");
    const parent = await resolveLinks(path.dirname(target));
    if (parent === undefined) return refuse("a symbolic link on the path leads nowhere");
    return this.#judge(path.join(parent, path.basename(target)));
  }

  #absolute(wanted: string): string | undefined {
    if (wanted.includes("\0")) return undefined;
    const target = path.resolve(this.root, wanted);
    const inGiven = inside(this.#given, target);
    return inGiven === undefined ? target : path.join(this.root, inGiven);
  }

  #judge(real: string): Located {
    const relative = inside(this.root, real);
    if (relative !== undefined) {
      const git = relative.split(path.sep).some((part) => part.toLowerCase() === ".git");
      return { ok: true, real, relative, inside: true, writable: !git };
    }
    if (this.#readable.some((one) => inside(one, real) !== undefined)) {
      return { ok: true, real, relative: real, inside: false, writable: false };
    }
    return refuse("the path leads out of the folder");
  }
}

function refuse(reason: string): Located {
  return { ok: false, reason };
}

/** `target` relative to `root`, or undefined when it lies elsewhere. */
function inside(root: string, target: string): string | undefined {
  const relative = path.relative(root, target);
  if (relative === "") return "";
  const leaves = relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return leaves ? undefined : relative;
}

/** The path with every link of its existing part followed; undefined when a link on the way points at nothing. */
async function resolveLinks(target: string): Promise<string | undefined> {
  const missing: string[] = [];
  let at = target;
  for (;;) {
    try {
      return path.join(await fs.realpath(at), ...missing);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
    }
    // it may be missing only if not even a link of that name is there
    if (
      await fs.lstat(at).then(
        () => true,
        () => false,
      )
    )
      return undefined;
    const parent = path.dirname(at);
    if (parent === at) return undefined;
    missing.unshift(path.basename(at));
    at = parent;
  }
}
