import { describe, expect } from "vitest";
import { defaultSettings } from "@chartroom/conversation";
import { agent } from "@chartroom/protocol";
import { test } from "../support/database.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";

const sees = (stream: RoomStream, kind: string): Promise<void> =>
  stream.downlink.until(() => stream.downlink.kinds.includes(kind));
const userMessage = (text: string, messageId: string) =>
  ({
    message: {
      case: "conversationAction",
      value: {
        action: {
          case: "userMessageAction",
          value: { userMessage: { text, messageId, mode: agent.AgentMode.AGENT } },
        },
      },
    },
  }) as const;

describe("the same message again", () => {
  test("its terminal was not delivered: answered from the store, no model call", async ({ node }) => {
    const models = scriptedModels(say("The answer."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const first = await person.stream().attach();
    const request = person.runRequest("Ask", { messageId: "m-1" });
    await first.send(request);
    await sees(first, "interactionUpdate.textDelta");
    first.downlink.lose();
    await first.client.service.registry.all()[0]?.written();
    const second = await person.stream().attach();
    await second.send(request);
    await second.downlink.ended();
    expect(second.downlink.text).toBe("The answer.");
    expect(second.downlink.kinds.at(-1)).toBe("interactionUpdate.turnEnded");
    expect(models.requests).toHaveLength(1);
  });

  test("delivered, then sent again: a new Run with an empty output, and the old branch is not in its prompt", async ({
    node,
  }) => {
    const models = scriptedModels(say("First answer."), say("Second answer."));
    const { client } = openRoom(node.store, models);
    const person = client();
    const request = person.runRequest("Ask", { messageId: "m-1" });
    const first = await person.stream().attach();
    await first.send(request);
    await first.downlink.ended();
    person.state = new Uint8Array();
    const second = await person.stream().attach();
    await second.send(request);
    await second.downlink.ended();
    expect(second.downlink.text).toBe("Second answer.");
    expect(JSON.stringify(models.requests[1]?.messages)).not.toContain("First answer.");
  });

  test("its Run failed: the retry goes on from that Run's own head with its stored results", async ({ node }) => {
    const failing = async function* () {
      yield [{ type: "failed", failure: { kind: "auth", status: 401, message: "no", retryable: false } } as const];
    };
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), failing, say("Done."));
    const { client } = openRoom(node.store, models);
    const person = client();
    person.onExec = (exec) =>
      exec.message.case === "readArgs"
        ? {
            case: "readResult",
            value: {
              result: {
                case: "success",
                value: { path: "/ws/demo/a.ts", output: { case: "content", value: "A" }, totalLines: 1 },
              },
            },
          }
        : undefined;
    const request = person.runRequest("Read it", { messageId: "m-1" });
    const first = await person.stream().attach();
    await first.send(request);
    await first.downlink.ended();
    expect(first.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "PROVIDER_AUTH" } }]);
    const second = await person.stream().attach();
    // the retry names the first request of its chain
    const { service, principal } = person;
    const decoded = await second.send({ ...request });
    expect(decoded.kind).toBe("run");
    await second.downlink.ended();
    expect(second.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(service.openRuns).toBe(0);
    expect(principal.member).toBe("ada");
  });
});

describe("a message between the end of a turn and the end of its stream (LC-08)", () => {
  test("starts the next Run on the same stream", async ({ node }) => {
    const models = scriptedModels(say("One."), say("Two."));
    const { client } = openRoom(node.store, models);
    const person = client();
    person.acknowledges = false;
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("First"));
    await sees(stream, "kvServerMessage.setBlobArgs");
    await stream.send(userMessage("And now?", "m-2"));
    await stream.acknowledge();
    await stream.downlink.ended();
    expect(stream.downlink.text).toBe("One.Two.");
    expect(stream.downlink.kinds.filter((kind) => kind === "interactionUpdate.turnEnded")).toHaveLength(2);
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
  });
});

describe("a stream that is asked for again after its end (TR-05)", () => {
  test("where it is remembered: as it was said, piece by piece, with what it cost", async ({ node }) => {
    const { client } = openRoom(node.store, scriptedModels(say("One ", "by ", "one.")));
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Count"));
    await stream.downlink.ended();
    const said = ({ messages }: RoomStream["downlink"]) =>
      messages.filter(({ message }) => message.case === "interactionUpdate");
    const first = said(stream.downlink);
    expect(stream.downlink.kinds.filter((kind) => kind === "interactionUpdate.textDelta")).toHaveLength(3);
    const again = await stream.reattach();
    await again.ended();
    expect(said(again)).toEqual(first);
  });
});

describe("capacity", () => {
  test("full of active Runs: refused before any work; the oldest parked Run makes room (TR-08)", async ({ node }) => {
    const models = scriptedModels(hang(["Busy"]));
    const { client } = openRoom(node.store, models, { settings: { maxOpenRuns: 1, maxOpenRunsPerMember: 1 } });
    const [one, two, three] = [client(), client(), client()];
    const first = await one.stream().attach();
    await first.send(one.runRequest("Go"));
    await sees(first, "interactionUpdate.textDelta");
    const refused = await two.stream().attach();
    const receipt = await refused.send(two.runRequest("Me too"));
    expect(receipt).toMatchObject({ kind: "refused", failure: { code: "LOCAL_CAPACITY", retryable: false } });
    first.downlink.lose();
    const admitted = await three.stream().attach();
    expect(await admitted.send(three.runRequest("Now me"))).toMatchObject({ kind: "run" });
    const back = await first.reattach();
    await back.until(() => back.terminals.length > 0);
    expect(back.terminals).toMatchObject([{ kind: "error", failure: { code: "PARK_CAPACITY" } }]);
  });

  test("new settings: wrong ones are refused whole; a shorter time to live counts from when the Run was parked", async ({
    node,
  }) => {
    const { client, service } = openRoom(node.store, scriptedModels(hang(["Busy"])));
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await sees(stream, "interactionUpdate.textDelta");
    stream.downlink.lose();
    const brief = { ...defaultSettings, heartbeatIntervalMs: 1, heartbeatJitterRatio: 0, parkedRunTtlMs: 2 };
    expect(service.applySettings({ ...brief, maxOpenRuns: 0 })).toEqual([
      expect.stringContaining("maxOpenRuns"),
      expect.stringContaining("maxOpenRunsPerMember"),
    ]);
    const back = await stream.reattach();
    back.lose();
    expect(service.applySettings(brief)).toEqual([]);
    await expect.poll(() => service.openRuns).toBe(0);
    const late = await stream.reattach();
    await late.until(() => late.terminals.length > 0);
    expect(late.terminals).toMatchObject([{ kind: "error", failure: { code: "PARK_EXPIRED" } }]);
  });

  test("a smaller limit ends the oldest parked Run, never an active one", async ({ node }) => {
    const { client, service } = openRoom(node.store, scriptedModels(hang(["Busy"])));
    const [parked, active] = [client(), client()];
    const first = await parked.stream().attach();
    await first.send(parked.runRequest("Go"));
    await sees(first, "interactionUpdate.textDelta");
    const second = await active.stream().attach();
    await second.send(active.runRequest("Go"));
    await sees(second, "interactionUpdate.textDelta");
    first.downlink.lose();
    expect(service.applySettings({ ...defaultSettings, maxOpenRuns: 1, maxOpenRunsPerMember: 1 })).toEqual([]);
    const back = await first.reattach();
    await back.until(() => back.terminals.length > 0);
    expect(back.terminals).toMatchObject([{ kind: "error", failure: { code: "PARK_CAPACITY" } }]);
    expect(second.downlink.terminals).toEqual([]);
    expect(service.openRuns).toBe(1);
  });
});
