import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDatabase } from "../support/database.ts";
import { endLeftBehind, runProgram, type ServerProcess, startServerProcess } from "../support/server.ts";

function dataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-data-"));
  fs.chmodSync(folder, 0o755);
  onTestFinished(async () => {
    await endLeftBehind(folder);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

async function started(settings: Parameters<typeof startServerProcess>[0]): Promise<ServerProcess> {
  const server = await startServerProcess(settings);
  onTestFinished(() => server.stop());
  return server;
}

const ready = async (server: ServerProcess): Promise<number> => (await fetch(`${server.url}/readyz`)).status;

describe("the server as a process", { timeout: 60_000 }, () => {
  it("starts on an empty folder, tells how to use it, and stops in order on SIGINT and on SIGTERM", async () => {
    const folder = dataFolder();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const server = await started({ dataFolder: folder });
      expect(await ready(server)).toBe(200);
      const { stdout } = server.output;
      expect(stdout).toContain(`npm run chat -- --url ${server.url}\n`);
      expect(stdout).toContain(`cursor-agent --endpoint ${server.url}\n`);
      expect(stdout).toContain(`${folder} (the built-in Postgres)`);
      expect(stdout).toMatch(/Models +demo +demo, the default/u);
      expect(server.output.stderr).toBe("");
      expect(await server.kill(signal)).toEqual({ code: 0, signal: null });
      expect(server.output.stderr).toMatch(new RegExp(`^${signal}: stopping`, "u"));
      // Postgres went with it
      expect(fs.existsSync(path.join(folder, "postgres", "data", "postmaster.pid"))).toBe(false);
    }
  });

  it("does not let a second one have its data folder", async () => {
    const folder = dataFolder();
    const first = await started({ dataFolder: folder });
    const second = await runProgram(["start"], { dataFolder: folder });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain(`is in use by process ${first.pid}: stop that one, set CHARTROOM_DATA`);
    expect(await ready(first)).toBe(200);
  });

  it("starts again on the folder of one that was killed", async () => {
    const folder = dataFolder();
    const first = await started({ dataFolder: folder });
    await first.kill("SIGKILL");
    const second = await started({ dataFolder: folder });
    expect(await ready(second)).toBe(200);
  });

  it("says that its port is in use", async () => {
    const holder = net.createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void holder.close());
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address() as net.AddressInfo;
    const folder = dataFolder();
    const second = await runProgram(["start"], { dataFolder: folder, env: { CHARTROOM_PORT: String(port) } });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toBe(
      `chartroom: 127.0.0.1:${port} is in use: is a server running already? CHARTROOM_PORT or listen.port names another port (0 takes a free one)\n`,
    );
    expect(fs.existsSync(path.join(folder, "postgres", "data", "postmaster.pid"))).toBe(false);
  });

  it("uses the database that DATABASE_URL names, and starts none", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const folder = dataFolder();
    const server = await started({ dataFolder: folder, databaseUrl: database.url });
    expect(await ready(server)).toBe(200);
    expect(server.output.stdout).toMatch(/Data +the configured database\n/u);
    expect(fs.readdirSync(folder)).toEqual([]);
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  it("does not start on a wrong configuration, and tells all that is wrong", async () => {
    const folder = dataFolder();
    const run = await runProgram(["start"], {
      dataFolder: folder,
      config: { listen: { host: "0.0.0.0" }, limits: { maxSteps: -1 }, nonsense: true },
    });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toBe(
      [
        "chartroom.yaml is not valid:",
        "  nonsense: there is no such setting",
        "  limits.maxSteps: Too small: expected number to be >=1",
        "  listen.host: 0.0.0.0 is not loopback: without tokens anybody could use the provider keys",
        "",
      ].join("\n"),
    );
    expect(fs.existsSync(path.join(folder, "postgres"))).toBe(false);
  });

  it("says that the configured database is not there, without its password", async () => {
    const run = await runProgram(["start"], {
      env: { DATABASE_URL: "postgres://user:marked-password@127.0.0.1:1/db" },
    });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(
      "the database is not available (ECONNREFUSED): is it running, and is DATABASE_URL right?",
    );
    expect(run.stderr).not.toContain("marked-password");
  });
});
