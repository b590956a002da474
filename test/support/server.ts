import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { DomainEvent, ModelDirectory } from "@chartroom/domain";
import { loadConfig, type RunningServer, startServer } from "@chartroom/server";
import { startEmbedded } from "@chartroom/store";
import { stringify } from "yaml";

export interface ServerSettings {
  /** Content of `chartroom.yaml`; the server listens on a free port of loopback whatever it says. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files beside it. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** A database to use; without it the server brings its own in `dataFolder`. */
  readonly databaseUrl?: string;
  /** Default: a new one, gone when the server is stopped. */
  readonly dataFolder?: string;
}

export interface TestServer extends RunningServer {
  /** The domain events so far. */
  readonly events: readonly DomainEvent[];
}

/** The whole server in this process, on a free port, with the models of a test in place of configured ones. */
export async function startTestServer(
  settings: ServerSettings & { readonly models?: ModelDirectory },
): Promise<TestServer> {
  const place = placeOf(settings);
  const events: DomainEvent[] = [];
  try {
    const config = loadConfig({ folder: place.folder, env: place.env });
    const server = await startServer(
      { ...config, logLevel: "silent" },
      { ...(settings.models ? { models: settings.models } : {}), events: (event) => events.push(event) },
    );
    return {
      ...server,
      events,
      async stop() {
        await server.stop();
        await place.remove();
      },
    };
  } catch (error) {
    await place.remove();
    throw error;
  }
}

export interface ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** What it wrote so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Resolves when it has ended, by itself or not. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Sends a signal; resolves when the process has ended. */
  kill(signal: NodeJS.Signals): ReturnType<() => ServerProcess["exited"]>;
  /** Ends it, if it runs, and takes away what it left: its Postgres, and the folder if it was made for it. */
  stop(): Promise<void>;
}

const main = fileURLToPath(new URL("../../apps/server/src/main.ts", import.meta.url));
const START_MS = 60_000;

/** The server as `npm start` runs it, in a process of its own. Rejects, with what it wrote, when it ends before it listens. */
export async function startServerProcess(
  settings: ServerSettings & { readonly port?: number },
): Promise<ServerProcess> {
  const place = placeOf(settings);
  const run = spawnProgram(["start"], place);
  const url = await listening(run).catch(async (error: unknown) => {
    run.child.kill("SIGKILL");
    await run.exited;
    await place.remove();
    throw error;
  });
  return {
    url,
    port: Number(new URL(url).port),
    pid: run.child.pid ?? 0,
    output: run.output,
    exited: run.exited,
    kill(signal) {
      run.child.kill(signal);
      return run.exited;
    },
    async stop() {
      if (run.child.exitCode === null && run.child.signalCode === null) run.child.kill("SIGKILL");
      await run.exited;
      await place.remove();
    },
  };
}

/** Runs the command-line program to its end. */
export async function runProgram(
  args: readonly string[],
  settings: ServerSettings = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const place = placeOf(settings);
  const run = spawnProgram(args, place);
  const { code } = await run.exited;
  await place.remove();
  return { code, ...run.output };
}

interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

function placeOf({
  config,
  files = {},
  env = {},
  databaseUrl,
  dataFolder,
  ...rest
}: ServerSettings & { port?: number }): Place {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-server-"));
  // Postgres may have to run as another user, who must get in here
  fs.chmodSync(folder, 0o755);
  if (config !== undefined) fs.writeFileSync(path.join(folder, "chartroom.yaml"), stringify(config));
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  const data = dataFolder ?? path.join(folder, "data");
  return {
    folder,
    env: {
      CHARTROOM_PORT: String(rest.port ?? 0),
      CHARTROOM_DATA: data,
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      ...env,
    },
    async remove() {
      if (dataFolder === undefined) await endLeftBehind(data);
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ends the Postgres of a data folder whose server was killed. */
export async function endLeftBehind(dataFolder: string): Promise<void> {
  const folder = path.join(dataFolder, "postgres");
  if (!fs.existsSync(path.join(folder, "data", "postmaster.pid"))) return;
  // whoever takes the folder ends what is left in it
  await (await startEmbedded(folder, { durable: false })).stop();
}

interface Running {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exited: ServerProcess["exited"];
}

function spawnProgram(args: readonly string[], { folder, env }: Place): Running {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main, ...args], {
    cwd: folder,
    // nothing of the test's own surroundings: keys would become providers
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  const exited = new Promise<Awaited<ServerProcess["exited"]>>((resolve, reject) => {
    child.once("error", reject);
    // after its pipes are read to their ends
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  return { child, output, exited };
}

function listening({ child, output, exited }: Running): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no server within ${START_MS} ms\n${output.stderr}`)), START_MS);
    const look = (): void => {
      const url = /^Chartroom listens on (\S+)$/mu.exec(output.stdout)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", look);
    void exited.then(({ code, signal }) => {
      clearTimeout(timer);
      reject(new Error(`the server ended (${code ?? signal})\n${output.stdout}${output.stderr}`));
    });
  });
}
