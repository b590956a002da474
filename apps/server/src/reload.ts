import type { RunningServer } from "./compose.ts";
import type { Config } from "./config/load.ts";
import { messageOf } from "./failure.ts";

/** Reads the configuration again and takes its limits over; a wrong one is told and changes nothing. The rest of it holds from the next start on. */
export function reload({ conversations }: Pick<RunningServer, "conversations">, read: () => Config): void {
  let config: Config;
  try {
    config = read();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\nThe settings stay as they were.\n`);
    return;
  }
  const problems = conversations.applySettings(config.settings);
  process.stderr.write(
    problems.length === 0
      ? "The limits of the configuration hold now.\n"
      : `${problems.join("\n")}\nThe settings stay as they were.\n`,
  );
}
