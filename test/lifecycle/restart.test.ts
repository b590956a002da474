import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";

const sees = (stream: RoomStream, kind: string): Promise<void> =>
  stream.downlink.until(() => stream.downlink.kinds.includes(kind));

const content = (path: string, value: string) =>
  ({
    case: "readResult",
    value: { result: { case: "success", value: { path, output: { case: "content", value }, totalLines: 1 } } },
  }) as const;

describe("a process that is gone", () => {
  test("in mid-stream: the Step is made again for the client that comes back; what it had flushed is kept as partial (LC-17)", async ({
    node,
  }) => {
    const mortal = mortalStore(node.store);
    const before = openRoom(mortal.store, scriptedModels(hang(["Half a sen"])));
    const person = before.client();
    const stream = await person.stream().attach();
    const request = person.runRequest("Go", { messageId: "m-1" });
    await stream.send(request);
    await sees(stream, "interactionUpdate.textDelta");
    mortal.kill();

    const models = scriptedModels(say("A whole sentence."));
    const after = openRoom(node.store, models);
    const back = after.client();
    Object.assign(back, { conversationId: person.conversationId });
    const retry = await back.stream().attach();
    await retry.send({ ...request });
    await retry.downlink.ended();
    expect(retry.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(retry.downlink.text).toContain("A whole sentence.");
    const said = JSON.stringify(models.requests[0]?.messages);
    expect(said.match(/"Go"/gu)).toHaveLength(1);
  });

  test("between dispatch and result: the call is issued again with its id, stored results are not asked for again (HI-21)", async ({
    node,
  }) => {
    const mortal = mortalStore(node.store);
    const script = call(
      { name: "Read", args: { path: "/ws/demo/a.ts" } },
      { name: "Read", args: { path: "/ws/demo/b.ts" } },
    );
    const before = openRoom(mortal.store, scriptedModels(script));
    const person = before.client();
    const asked: string[] = [];
    person.onExec = (exec) => {
      if (exec.message.case !== "readArgs") return undefined;
      asked.push(exec.message.value.path);
      return exec.message.value.path.endsWith("a.ts") ? content(exec.message.value.path, "A\n") : undefined;
    };
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Compare", { messageId: "m-1" }));
    await stream.downlink.until(
      () => stream.downlink.kinds.filter((kind) => kind === "interactionUpdate.toolCallCompleted").length > 0,
    );
    mortal.kill();

    const models = scriptedModels(say("They differ."));
    const after = openRoom(node.store, models);
    const back = after.client();
    Object.assign(back, { conversationId: person.conversationId, blobs: person.blobs, state: person.state });
    const again: string[] = [];
    back.onExec = (exec) => {
      if (exec.message.case !== "readArgs") return undefined;
      again.push(exec.message.value.path);
      return content(exec.message.value.path, "B\n");
    };
    const retry = await back.stream().attach();
    await retry.send(back.runRequest("", { resume: true }));
    await retry.downlink.ended();
    expect(asked).toEqual(["/ws/demo/a.ts", "/ws/demo/b.ts"]);
    expect(again).toEqual(["/ws/demo/b.ts"]);
    expect(retry.downlink.terminals).toEqual([{ kind: "completed" }]);
    const results = models.requests[0]?.messages.find((message) => message.role === "tool");
    expect(JSON.stringify(results)).toContain("1|A");
    expect(JSON.stringify(results)).toContain("1|B");
  });

  test("between two Steps, without a transport: the next Step has a number of its own, and so have its calls (HI-21)", async ({
    node,
  }) => {
    const before = openRoom(node.store, scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } })));
    const person = before.client();
    person.onExec = () => undefined;
    const stream = await person.stream().attach();
    const request = person.runRequest("Read both", { messageId: "m-1" });
    await stream.send(request);
    await sees(stream, "execServerMessage.readArgs");
    const asked = stream.downlink.messages.find(({ message }) => message.case === "execServerMessage")?.message;
    if (asked?.case !== "execServerMessage") throw new Error("no exec");
    stream.downlink.lose();
    const { id, execId } = asked.value;
    await stream.send({
      message: { case: "execClientMessage", value: { id, execId, message: content("/ws/demo/a.ts", "A") } },
    });
    // what is stored last is that it waits between the two
    await before.service.drain(0);

    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/b.ts" } }), say("Done."));
    const back = openRoom(node.store, models).client();
    Object.assign(back, { conversationId: person.conversationId });
    back.onExec = (exec) => (exec.message.case === "readArgs" ? content(exec.message.value.path, "B") : undefined);
    const retry = await back.stream().attach();
    await retry.send({ ...request });
    await retry.downlink.ended();
    expect(retry.downlink.terminals).toEqual([{ kind: "completed" }]);
    const results = models.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results.map((message) => JSON.stringify(message).match(/\|([AB])/u)?.[1])).toEqual(["A", "B"]);
  });

  test("after the end: a late transport of the same generation is answered from the store (TR-05)", async ({
    node,
  }) => {
    const mortal = mortalStore(node.store);
    const before = openRoom(mortal.store, scriptedModels(say("The answer.")));
    const person = before.client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Ask"));
    await stream.downlink.ended();
    mortal.kill();

    const models = scriptedModels(say("never"));
    const after = openRoom(node.store, models);
    const back = after.client();
    const late = back.stream(stream.generation.requestId);
    await late.attach();
    await late.downlink.ended();
    expect(late.downlink.text).toBe("The answer.");
    expect(late.downlink.kinds.at(-1)).toBe("interactionUpdate.turnEnded");
    expect(late.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(models.requests).toHaveLength(0);
  });

  test("a node that comes back is refused by the fence and says nothing", async ({ node }) => {
    const models = scriptedModels(hang(["Half"]));
    const first = openRoom(node.store, models);
    const person = first.client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await sees(stream, "interactionUpdate.textDelta");
    // another activation takes the conversation over while the first still believes that it owns it
    const second = openRoom(node.store, scriptedModels(say("Mine.")));
    const other = second.client();
    Object.assign(other, { conversationId: person.conversationId });
    const fresh = await other.stream().attach();
    await fresh.send(other.runRequest("Take over"));
    await fresh.downlink.ended();
    await stream.send({
      message: { case: "conversationAction", value: { action: { case: "cancelAction", value: { reason: "user" } } } },
    });
    expect(first.events.some((event) => event.type === "conversation.fenced")).toBe(true);
    expect(stream.downlink.terminals).toEqual([]);
    expect(stream.downlink.dropped).toBe(true);
    expect(fresh.downlink.terminals).toEqual([{ kind: "completed" }]);
  });

  test("a node that wakes from a freeze says nothing once its lease may have ended", async ({ node }) => {
    let wake: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (wake = resolve));
    let held = true;
    const models = scriptedModels(hang(["Half"], gate, say("never shown")));
    const { client, events } = openRoom(node.store, models, { holdsLease: () => held });
    const person = client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await stream.downlink.until(() => stream.downlink.text === "Half");
    held = false;
    wake();
    await expect.poll(() => stream.downlink.dropped).toBe(true);
    expect(stream.downlink.text).toBe("Half");
    expect(stream.downlink.terminals).toEqual([]);
    expect(events.some((event) => event.type === "conversation.fenced")).toBe(true);
  });
});
