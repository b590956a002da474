import { describe, expect, onTestFinished } from "vitest";
import { test as base } from "../support/database.ts";
import { killable, type Killable } from "../support/killable.ts";
import type { StubAnswer } from "../support/openai-stub.ts";
import { expectFinished, expectOneOwner, runStatuses } from "../support/wire-checks.ts";
import {
  type ClientInit,
  comeBack,
  readAnswer,
  unique,
  WIRE_TRANSPORTS,
  WireClient,
  type WireStream,
  type WireTransport,
} from "../support/wire-client.ts";

const read = (path: string) => ({ name: "Read", args: { path: `/ws/demo/${path}` } });
const never = new Promise<void>(() => undefined);

/** One Run at the moment of the kill, and behind it. */
interface Told {
  readonly before: WireStream;
  readonly now: WireStream;
  /** Bodies of the model calls of this Run's conversation, oldest first. */
  readonly prompts: readonly string[];
}

interface Scene {
  /** What the vendor answers to the calls of this Run, counted from 1, before the kill and behind it. */
  readonly answers: (call: number) => StubAnswer;
  /** Brings the Run to the moment of the kill. */
  readonly reach: (stream: WireStream, person: WireClient, prompts: () => readonly string[]) => Promise<void>;
  /** What the client sends after the restart, if not the same request. */
  readonly again?: (person: WireClient) => ClientInit;
  /** The Runs of the conversation, one by default. */
  readonly runs?: readonly string[];
  /** What reads give after the restart. */
  readonly after?: string;
  /** What must hold of the Run that went on. */
  readonly check: (told: Told) => void;
}

const SCENES: Readonly<Record<string, Scene>> = {
  "in preparing, while the client is asked for its context": {
    answers: () => ({ text: ["Done."] }),
    async reach(stream) {
      await stream.down.sees("execServerMessage.requestContextArgs");
    },
    check: ({ now }) => expect(now.down.text).toBe("Done."),
  },
  "in mid-stream": {
    answers: (call) => (call === 1 ? { text: ["Half a ", "never"], before: never } : { text: ["A whole."] }),
    async reach(stream) {
      await stream.down.says("Half a ");
    },
    check({ now, prompts }) {
      expect(now.down.text).toContain("A whole.");
      expect(prompts).toHaveLength(2);
    },
  },
  "between the dispatch of a tool and its result": {
    answers: (call) => (call === 1 ? { calls: [read("a.ts")] } : { text: ["Read."] }),
    async reach(stream) {
      await stream.down.sees("execServerMessage.readArgs");
      await stream.down.sees("conversationCheckpointUpdate");
    },
    after: "A AFTER",
    check({ now, before, prompts }) {
      expect(now.down.execs.map(({ execId }) => execId)).toEqual(before.down.execs.map(({ execId }) => execId));
      expect(prompts.at(-1)).toContain("A AFTER");
      expect(prompts).toHaveLength(2);
    },
  },
  "with half of the results in": {
    answers: (call) => (call === 1 ? { calls: [read("a.ts"), read("b.ts")] } : { text: ["Read."] }),
    async reach(stream) {
      await stream.down.until(() => stream.down.execs.length === 2, "two execs");
      const [a] = stream.down.execs;
      await stream.answer(a!, readAnswer(a!, "A BEFORE")!);
      await stream.down.sees("interactionUpdate.toolCallCompleted");
    },
    after: "B AFTER",
    check({ now, before, prompts }) {
      expect(now.down.execs.map(({ execId }) => execId)).toEqual([before.down.execs[1]?.execId]);
      expect(prompts.at(-1)).toContain("A BEFORE");
      expect(prompts.at(-1)).toContain("B AFTER");
    },
  },
  "between the tool result in the store and the model's first word on it": {
    answers: (call) =>
      call === 1 ? { calls: [read("a.ts")] } : call === 2 ? { text: ["never"], before: never } : { text: ["Read."] },
    async reach(stream, _person, prompts) {
      await stream.down.sees("execServerMessage.readArgs");
      const [exec] = stream.down.execs;
      await stream.answer(exec!, readAnswer(exec!, "A BEFORE")!);
      await expect.poll(() => prompts().length, { timeout: 10_000 }).toBe(2);
    },
    after: "ASKED AGAIN",
    check({ now, prompts }) {
      expect(now.down.execs).toEqual([]);
      expect(prompts.at(-1)).toContain("A BEFORE");
      expect(prompts.at(-1)).not.toContain("ASKED AGAIN");
    },
  },
  "while an injection is in the inbox": {
    answers: (call) => (call === 1 ? { calls: [read("a.ts")] } : { text: ["Read."] }),
    async reach(stream) {
      await stream.down.sees("execServerMessage.readArgs");
      await stream.action({
        case: "injectContextAction",
        value: {
          injectionId: "inj-1",
          expectedRunId: "wire-1",
          payload: { case: "systemContext", value: { producer: "watcher", content: "The build is red." } },
        },
      });
      await stream.down.sees("interactionUpdate.contextInjectionState");
    },
    after: "A AFTER",
    check({ prompts }) {
      expect(prompts.at(-1)?.match(/The build is red\./gu)).toHaveLength(1);
      expect(prompts.at(-1)).toContain("A AFTER");
    },
  },
  "in compacting, while the summary is written": {
    answers: (call) =>
      call === 1
        ? { text: ["An answer."] }
        : call === 2
          ? { text: ["never"], before: never }
          : { text: ["Summed up."] },
    async reach(stream, person, prompts) {
      await stream.down.over();
      stream.open();
      stream.seqno = 0;
      await stream.send(person.action({ case: "summarizeAction", value: {} }));
      await expect.poll(() => prompts().length, { timeout: 10_000 }).toBe(2);
    },
    again: (person) => person.action({ case: "summarizeAction", value: {} }),
    runs: ["completed", "completed"],
    check({ now, prompts }) {
      expect(now.down.kinds).toContain("interactionUpdate.summaryCompleted");
      expect(prompts).toHaveLength(3);
    },
  },
  "in checkpointing, before its blobs are acknowledged": {
    answers: () => ({ text: ["The answer."] }),
    async reach(stream, person) {
      person.acknowledges = false;
      await stream.down.sees("kvServerMessage.setBlobArgs");
    },
    check({ now, prompts }) {
      expect(now.down.text).toBe("The answer.");
      expect(prompts).toHaveLength(1);
    },
  },
  "at the final checkpoint, before the client saw turn_ended": {
    answers: () => ({ text: ["The answer."] }),
    async reach(stream) {
      await stream.down.sees("conversationCheckpointUpdate");
    },
    check({ now, prompts }) {
      expect(now.down.text).toBe("The answer.");
      expect(prompts).toHaveLength(1);
    },
  },
};

/** A Run that was killed, and what its client had of it. */
interface Killed {
  readonly person: WireClient;
  readonly before: WireStream;
  readonly request: ClientInit;
  readonly prompts: () => readonly string[];
  /** What kept it from its moment. */
  readonly error: unknown;
}

/** One server in which every scene is at its moment when it is killed, and the one that comes after it. */
interface Ruin {
  readonly town: Killable;
  readonly port: number;
  of(transport: WireTransport, name: string): Killed;
}

const keyOf = (transport: WireTransport, name: string): string => `[${transport}: ${name}]`;

async function ruin(url: string): Promise<Ruin> {
  const town = await killable(url, (body) => {
    const [key, scene] = scenes.find(([mark]) => body.includes(mark)) ?? [];
    const call = town.vendor.requests.filter((request) => key !== undefined && request.body.includes(key)).length;
    return scene?.answers(call) ?? { text: ["?"] };
  });
  const scenes = WIRE_TRANSPORTS.flatMap((transport) =>
    Object.entries(SCENES).map(([name, scene]) => [keyOf(transport, name), scene, transport] as const),
  );
  const first = await town.start();
  const killed = await Promise.all(
    scenes.map(async ([key, { reach }, transport]) => {
      const person = new WireClient(first.port, { transport });
      const request = person.runRequest(key, { messageId: unique("message"), runId: "wire-1" });
      if (key.includes("preparing")) withoutContext(request);
      const before = person.stream();
      const prompts = (): readonly string[] =>
        town.vendor.requests.map(({ body }) => body).filter((body) => body.includes(key));
      await before.send(request);
      const error: unknown = await reach(before, person, prompts).catch((cause: unknown) => cause);
      return [key, { person, before, request, prompts, error }] as const;
    }),
  );
  await first.kill("SIGKILL");
  const second = await town.start();
  const byKey = new Map(killed);
  return { town, port: second.port, of: (transport, name) => byKey.get(keyOf(transport, name))! };
}

const test = base.extend<{ ruins: Ruin }>({
  ruins: [
    async ({ url }, use) => {
      const made = await ruin(url);
      await use(made);
      await made.town.close();
    },
    { scope: "file" },
  ],
});

describe.each(WIRE_TRANSPORTS)("a server that is killed with -9, over %s", { timeout: 90_000 }, (transport) => {
  test.for(Object.entries(SCENES))(
    "%s: the Run goes on from the last barrier, no stored result is asked for again, one end for the client (LC-17, LC-19)",
    async ([name, scene], { ruins }) => {
      const { town, port } = ruins;
      const { person, before, request, prompts, error } = ruins.of(transport, name);
      if (error !== undefined) throw error;
      await before.down.over();
      // "before turn_ended" is a moment that a kill may miss: then the client has its end already
      expect(before.down.ends.length).toBeLessThanOrEqual(name.includes("final checkpoint") ? 1 : 0);

      const back = person.twin(port);
      onTestFinished(() => back.close());
      back.onExec = (exec) =>
        exec.message.case === "requestContextArgs" ? contextAnswer : readAnswer(exec, scene.after);
      const now = await comeBack(back, scene.again?.(back) ?? request, before.requestId);
      expectFinished(now.down);
      scene.check({ before, now, prompts: prompts() });
      expect(await runStatuses(town.store, person.conversationId)).toEqual(scene.runs ?? ["completed"]);
      await expectOneOwner(town.store, person.conversationId);
      // and the conversation takes the next message
      const next = back.stream();
      await next.send(back.runRequest("Go on"));
      await next.down.over();
      expectFinished(next.down);
    },
  );
});

const contextAnswer = {
  case: "requestContextResult",
  value: { result: { case: "success", value: { requestContext: { env: { shell: "/bin/bash" } } } } },
} as const;

function withoutContext(request: ClientInit): ClientInit {
  const action = request.message?.case === "runRequest" ? request.message.value.action?.action : undefined;
  if (action?.case === "userMessageAction") delete action.value.requestContext;
  return request;
}
