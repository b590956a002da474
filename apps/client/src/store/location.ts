import os from "node:os";
import path from "node:path";

/**
 * Where conversations lie: `CHARTROOM_CLIENT_DATA`, else `$XDG_DATA_HOME/chartroom-client`, else
 * `~/.local/share/chartroom-client`. Never in the folder that is worked in.
 */
export function dataFolder(env: NodeJS.ProcessEnv = process.env, home: string = os.homedir()): string {
  const own = env["CHARTROOM_CLIENT_DATA"];
  if (own !== undefined && own !== "") return path.resolve(own);
  const xdg = env["XDG_DATA_HOME"];
  const base = xdg !== undefined && path.isAbsolute(xdg) ? xdg : path.join(home, ".local", "share");
  return path.join(base, "chartroom-client");
}
