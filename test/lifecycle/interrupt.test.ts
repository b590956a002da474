import { describe, expect } from "vitest";
import { agent } from "@chartroom/protocol";
import { test } from "../support/database.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";

const sees = (stream: RoomStream, kind: string): Promise<void> =>
  stream.downlink.until(() => stream.downlink.kinds.includes(kind));
const cancel = {
  message: { case: "conversationAction", value: { action: { case: "cancelAction", value: { reason: "user" } } } },
} as const;
const userMessage = (text: string, messageId: string) =>
  ({
    message: {
      case: "conversationAction",
      value: {
        action: { case: "userMessageAction", value: { userMessage: { text, messageId, mode: agent.AgentMode.AGENT } } },
      },
    },
  }) as const;
const inject = (injectionId: string, expectedRunId: string, text: string) =>
  ({
    message: {
      case: "conversationAction",
      value: {
        action: {
          case: "injectContextAction",
          value: {
            injectionId,
            expectedRunId,
            payload: {
              case: "userContext",
              value: { userMessage: { text, messageId: `m-${injectionId}`, mode: agent.AgentMode.AGENT } },
            },
          },
        },
      },
    },
  }) as const;

describe("cancel", () => {
  test("while the model streams: one cancelled terminal, shown text is kept (LC-01, LC-04)", async ({ node }) => {
    const models = scriptedModels(hang(["Half a sen"]), say("Next."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await sees(stream, "interactionUpdate.textDelta");
    await stream.send(cancel);
    await stream.send(cancel);
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "CANCELLED" } }]);
    const next = await person.stream().attach();
    await next.send(person.runRequest("Go on"));
    await next.downlink.ended();
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("Half a sen");
  });

  test("while a tool runs: its exec is aborted first, its call is closed as interrupted (LC-01)", async ({ node }) => {
    const models = scriptedModels(call({ name: "Shell", args: { command: "sleep 60" } }), say("Next."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Run it"));
    await sees(stream, "execServerMessage.shellStreamArgs");
    await stream.send(cancel);
    await stream.downlink.ended();
    const { kinds } = stream.downlink;
    expect(kinds.indexOf("execServerControlMessage")).toBeGreaterThan(0);
    expect(kinds.indexOf("execServerControlMessage")).toBeLessThan(kinds.lastIndexOf("conversationCheckpointUpdate"));
    const next = await person.stream().attach();
    await next.send(person.runRequest("Go on"));
    await next.downlink.ended();
    const last = models.requests.at(-1)?.messages ?? [];
    expect(last.filter((message) => message.role === "tool")).toHaveLength(1);
  });
});

describe("soft interrupt", () => {
  test("a user message on the live stream while a tool runs: aborted, appended, same Run goes on (LC-06)", async ({
    node,
  }) => {
    const models = scriptedModels(call({ name: "Shell", args: { command: "sleep 60" } }), say("It is Monday."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const stream = await person.stream().attach();
    const receipt = await stream.send(person.runRequest("Wait a minute"));
    await sees(stream, "execServerMessage.shellStreamArgs");
    await stream.send(userMessage("Stop that, print the date instead", "m-2"));
    await stream.downlink.ended();
    expect(receipt.kind).toBe("run");
    expect(stream.downlink.text).toBe("It is Monday.");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(stream.downlink.kinds.filter((kind) => kind === "interactionUpdate.userMessageAppended")).toHaveLength(1);
    expect(stream.downlink.kinds.filter((kind) => kind === "interactionUpdate.turnEnded")).toHaveLength(1);
    expect(JSON.stringify(models.requests.at(-1)?.messages.at(-1))).toContain("print the date instead");
  });

  test("an injection with the wire run id is queued, delivered once, appended; the request id as value is rejected once (ID-07, LC-12)", async ({
    node,
  }) => {
    const models = scriptedModels(hang(["Thinking about it"]), say("Done."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go", { runId: "wire-run-1" }));
    await sees(stream, "interactionUpdate.textDelta");
    const states = (): readonly string[] =>
      stream.downlink.messages.flatMap(({ message }) =>
        message.case === "interactionUpdate" && message.value.message.case === "contextInjectionState"
          ? [`${message.value.message.value.injectionId}:${message.value.message.value.state?.state.case ?? ""}`]
          : [],
      );
    await stream.send(inject("wrong", stream.generation.requestId, "no"));
    await stream.send(inject("wrong", stream.generation.requestId, "no"));
    await stream.send(inject("right", "wire-run-1", "Be brief"));
    await stream.send(inject("right", "wire-run-1", "Be brief"));
    await stream.downlink.ended();
    expect(states()).toEqual(["wrong:rejected", "right:queued", "right:delivered"]);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("Be brief");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
  });
});

describe("transport", () => {
  test("its loss cancels nothing; a retry of the message claims the Run and sees all of it once (TR-06)", async ({
    node,
  }) => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const models = scriptedModels(hang(["one ", "two "], gate, say("three")));
    const { client } = openRoom(node.store, models);
    const person = client();
    const first = await person.stream().attach();
    const request = person.runRequest("Count", { messageId: "m-count" });
    await first.send(request);
    await first.downlink.until(() => first.downlink.text === "one two ");
    first.downlink.lose();
    const second = await person.stream().attach();
    const receipt = await second.send(request);
    expect(receipt.kind).toBe("run");
    open();
    await second.downlink.ended();
    expect(second.downlink.text).toBe("one two three");
    expect(second.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(models.requests).toHaveLength(1);
  });

  test("an open call is issued again on the new stream with the same tool call id; the first result wins", async ({
    node,
  }) => {
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("It holds x."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const ids: string[] = [];
    const first = await person.stream().attach();
    person.onExec = (exec) => {
      if (exec.message.case === "readArgs") ids.push(exec.message.value.toolCallId);
      return undefined;
    };
    await first.send(person.runRequest("Read a.ts"));
    await sees(first, "execServerMessage.readArgs");
    first.downlink.lose();
    const second = person.stream();
    person.onExec = (exec) => {
      if (exec.message.case !== "readArgs") return undefined;
      ids.push(exec.message.value.toolCallId);
      return {
        case: "readResult",
        value: {
          result: {
            case: "success",
            value: { path: "/ws/demo/a.ts", output: { case: "content", value: "x\n" }, totalLines: 1 },
          },
        },
      };
    };
    await second.attach();
    await second.send(person.runRequest("", { resume: true }));
    await second.downlink.ended();
    expect(ids).toHaveLength(2);
    expect(ids[0]).toBe(ids[1]);
    expect(second.downlink.text).toBe("It holds x.");
  });

  test("a resume with a checkpoint sees what follows it, and nothing twice", async ({ node }) => {
    const look = async function* (...args: Parameters<ReturnType<typeof call>>) {
      yield [{ type: "text", text: "Let me look. " } as const];
      yield* call({ name: "Read", args: { path: "/ws/demo/a.ts" } })(...args);
    };
    const models = scriptedModels(look, say("It holds x."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const first = await person.stream().attach();
    await first.send(person.runRequest("Read a.ts"));
    await sees(first, "conversationCheckpointUpdate");
    expect(first.downlink.text).toBe("Let me look. ");
    first.downlink.lose();
    const second = person.stream();
    person.onExec = (exec) =>
      exec.message.case === "readArgs"
        ? {
            case: "readResult",
            value: {
              result: {
                case: "success",
                value: { path: "/ws/demo/a.ts", output: { case: "content", value: "x" }, totalLines: 1 },
              },
            },
          }
        : undefined;
    await second.attach();
    await second.send(person.runRequest("", { resume: true }));
    await second.downlink.ended();
    expect(second.downlink.text).toBe("It holds x.");
    const { kinds } = second.downlink;
    expect(kinds).not.toContain("interactionUpdate.toolCallStarted");
    expect(kinds.filter((kind) => kind === "interactionUpdate.toolCallCompleted")).toHaveLength(1);
    expect(second.downlink.terminals).toEqual([{ kind: "completed" }]);
  });

  test("a new message on a new stream supersedes the living Run, then runs", async ({ node }) => {
    const models = scriptedModels(hang(["Old"]), say("New"));
    const { client } = openRoom(node.store, models);
    const person = client();
    const old = await person.stream().attach();
    await old.send(person.runRequest("first"));
    await sees(old, "interactionUpdate.textDelta");
    const fresh = await person.stream().attach();
    await fresh.send(person.runRequest("second"));
    await Promise.all([old.downlink.ended(), fresh.downlink.ended()]);
    expect(old.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "SUPERSEDED" } }]);
    expect(fresh.downlink.text).toBe("New");
    expect(fresh.downlink.terminals).toEqual([{ kind: "completed" }]);
  });
});
