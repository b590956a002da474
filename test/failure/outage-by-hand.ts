import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { migrate, startEmbedded } from "@chartroom/store";
import { startProxy } from "../contract/store-proxy.ts";
import { type Answer, call, say, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer } from "../support/server.ts";
import { comeBack, readAnswer, type ClientInit, WireClient, type WireStream } from "../support/wire-client.ts";

const HELP = `usage: node test/failure/outage-by-hand.ts [--seconds 30] [--database own|shared]

  Takes the database of a server away for so long, in real time, while chats work, and tells what each client saw, what was
  acknowledged meanwhile, and how all came back. own: the server's embedded Postgres is frozen. shared: the way to another
  Postgres is cut, as another server could take the conversations over, the lease of this one ends after 6 s.
`;

/** A chat asks for a file, and then says what it read; "Count" says a number every half second. */
const model: Answer = async function* (request, signal) {
  const text = JSON.stringify(request.messages.at(-1));
  if (text.includes("Count")) {
    for (let n = 1; n <= 2 * seconds && !signal.aborted; n++) {
      yield [{ type: "text", text: `${n} ` }];
      await wait(500, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted)
      return yield [{ type: "failed", failure: { kind: "aborted", message: "aborted", retryable: false } }];
    return yield* say("counted.")(request, signal);
  }
  if (text.includes("Look")) return yield* call({ name: "Read", args: { path: "/ws/demo/a.ts" } })(request, signal);
  yield* say("Done.")(request, signal);
};
let seconds = 30;

interface Chat {
  readonly name: string;
  readonly person: WireClient;
  readonly stream: WireStream;
  readonly request: ClientInit;
}

/** A database that can go away, and the server on it. */
async function place(kind: "own" | "shared") {
  const models = scriptedModels(model);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-outage-"));
  fs.chmodSync(folder, 0o755);
  if (kind === "own") {
    const server = await startTestServer({ models: models.directory, dataFolder: folder });
    const postmaster = fs.readFileSync(path.join(folder, "postgres/data/postmaster.pid"), "utf8").split("\n")[0]!;
    const all = (signal: NodeJS.Signals): void => {
      const children = execFileSync("pgrep", ["-P", postmaster], { encoding: "utf8" }).trim().split("\n");
      for (const pid of [postmaster, ...children])
        try {
          process.kill(Number(pid), signal);
        } catch {
          // a connection's process may end meanwhile
        }
    };
    return {
      server,
      leave: async () => all("SIGSTOP"),
      comeBack: async () => all("SIGCONT"),
      async close() {
        await server.stop();
        fs.rmSync(folder, { recursive: true, force: true });
      },
    };
  }
  const postgres = await startEmbedded(folder, { durable: false });
  await migrate(postgres.url());
  const proxy = await startProxy(postgres.url());
  const server = await startTestServer({ models: models.directory, databaseUrl: proxy.url });
  return {
    server,
    leave: () => proxy.cut(),
    comeBack: () => proxy.mend(),
    async close() {
      await server.stop();
      await proxy.close();
      await postgres.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function outage(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { seconds: { type: "string", default: "30" }, database: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  seconds = Number(values.seconds);
  const kinds = (["own", "shared"] as const).filter((kind) =>
    [undefined, kind].includes(values.database as typeof kind),
  );
  let lost = 0;
  for (const kind of kinds) lost += await one(kind);
  return lost === 0 ? 0 : 1;
}

/** Gives how many chats did not come to their end. */
async function one(kind: "own" | "shared"): Promise<number> {
  const { server, leave, comeBack: returns, close } = await place(kind);
  const tell = (text: string): void => void process.stdout.write(`${kind} ${text}\n`);
  const chats: Chat[] = [];
  const begin = async (name: string, text: string, transport: "run" | "sse", seen: string): Promise<void> => {
    const person = new WireClient(server.port, { transport });
    const request = person.runRequest(text, { messageId: `m-${name}` });
    const stream = person.stream();
    await stream.send(request);
    await stream.down.sees(seen);
    chats.push({ name: `${name} over ${transport}`, person, stream, request });
  };
  for (const transport of ["run", "sse"] as const) {
    await begin(`tool-${transport}`, "Look", transport, "execServerMessage.readArgs");
    await begin(`stream-${transport}`, "Count", transport, "interactionUpdate.textDelta");
  }
  // rows that were stored before it went
  await wait(2_000);

  const since = performance.now();
  const at = (): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
  await leave();
  for (const { name, stream } of chats) {
    void stream.down.over(600_000).then((end) => {
      const how = end === undefined ? "broke off" : end.kind === "completed" ? "completed" : `error ${end.code}`;
      tell(`${at()} ${name}: its stream ${how}`);
    });
    const [exec] = stream.down.execs;
    if (exec === undefined) continue;
    const answer = stream.answer(exec, readAnswer(exec, "SAVED\n")!);
    if (stream.client.transport === "sse")
      answer.then(
        () => tell(`${at()} ${name}: its result was acknowledged`),
        (error: unknown) => tell(`${at()} ${name}: its result was refused, ${String(error).slice(0, 60)}`),
      );
  }
  await wait(Math.min(8_000, seconds * 500));
  const fresh = new WireClient(server.port, { transport: "sse" });
  const refused = fresh.stream();
  const asked = performance.now();
  void refused
    .send(fresh.runRequest("Hello"), { mayFail: true })
    .then((reply) =>
      tell(
        `${at()} a new chat was answered ${reply?.status} after ${((performance.now() - asked) / 1_000).toFixed(1)} s`,
      ),
    );
  void refused.down
    .over(600_000)
    .then(() => tell(`${at()} a new chat: its stream ended, ${JSON.stringify(refused.down.end?.kind)}`));
  await wait(Math.max(0, seconds * 1_000 - (performance.now() - since)));
  await returns();
  tell(`${at()} the database is back`);
  const ready = async (): Promise<boolean> => (await fetch(`${server.url}/readyz`)).status === 200;
  while (!(await ready())) await wait(100);
  tell(`${at()} the server is ready`);

  let lost = 0;
  for (const { name, person, stream, request } of chats) {
    person.onExec = (exec) => readAnswer(exec, "SAVED\n");
    let last = stream;
    await stream.down.over(seconds * 1_000 + 30_000).catch(() => undefined);
    if (stream.down.end?.kind !== "completed") last = await comeBack(person, request, stream.requestId);
    const good = last.down.end?.kind === "completed" && /Done\.|counted\./u.test(last.down.text);
    if (!good) lost++;
    tell(
      `${at()} ${name}: ${good ? "came to its end" : "DID NOT come to its end"}${last === stream ? " on its first stream" : ""}`,
    );
    person.close();
  }
  fresh.close();
  await close();
  return lost;
}

process.exitCode = await outage(process.argv.slice(2));
