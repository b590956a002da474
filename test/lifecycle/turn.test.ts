import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { bob, openRoom } from "../support/room.ts";
import { call, say, scriptedModels } from "../support/scripted-provider.ts";

describe("one turn", () => {
  test("text: deltas, checkpoint, turn_ended, terminal, in this order (LC-15)", async ({ node }) => {
    const { client } = openRoom(node.store, scriptedModels(say("Hel", "lo!")));
    const stream = await client().stream().attach();
    const receipt = await stream.send(stream.client.runRequest("Say hello"));
    expect(receipt.kind).toBe("run");
    await stream.downlink.ended();
    const { kinds } = stream.downlink;
    expect(stream.downlink.text).toBe("Hello!");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(kinds.at(-1)).toBe("interactionUpdate.turnEnded");
    expect(kinds.at(-2)).toBe("conversationCheckpointUpdate");
    expect(kinds.indexOf("conversationCheckpointUpdate")).toBeGreaterThan(
      kinds.lastIndexOf("interactionUpdate.textDelta"),
    );
  });

  test("a tool call goes to the client and its result to the model", async ({ node }) => {
    const models = scriptedModels(
      call({ name: "Read", args: { path: "/ws/demo/README.md" } }),
      say("It holds one heading."),
    );
    const { client } = openRoom(node.store, models);
    const stream = await client().stream().attach();
    stream.client.onExec = (exec) =>
      exec.message.case === "readArgs"
        ? {
            case: "readResult",
            value: {
              result: {
                case: "success",
                value: {
                  path: exec.message.value.path,
                  output: { case: "content", value: "# Demo\n" },
                  totalLines: 1,
                  fileSize: 7n,
                },
              },
            },
          }
        : undefined;
    await stream.send(stream.client.runRequest("What is in README.md?"));
    await stream.downlink.ended();
    expect(stream.downlink.text).toBe("It holds one heading.");
    const [, second] = models.requests;
    expect(JSON.stringify(second?.messages.at(-1))).toContain("# Demo");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
  });

  test("the next turn goes on with the history of the first", async ({ node }) => {
    const models = scriptedModels(say("PONG"), say("PONG again"));
    const { client } = openRoom(node.store, models);
    const person = client();
    for (const text of ["ping", "again"]) {
      const stream = await person.stream().attach();
      await stream.send(person.runRequest(text));
      await stream.downlink.ended();
      expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    }
    const [first, second] = models.requests;
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages);
    expect(JSON.stringify(second?.messages)).toContain("PONG");
  });
});

describe("a history that this server does not have", () => {
  test("is taken from the client's checkpoint: its blobs are fetched, the next turn goes on (HI-08)", async ({
    node,
    openNode,
  }) => {
    const { client } = openRoom(node.store, scriptedModels(say("PONG")));
    const person = client();
    const first = await person.stream().attach();
    await first.send(person.runRequest("ping"));
    await first.downlink.ended();

    // another member's conversations share nothing with the first's, as an empty server's would
    const models = scriptedModels(say("PONG again"));
    const elsewhere = openRoom((await openNode()).store, models).client(bob);
    Object.assign(elsewhere, { state: person.state, blobs: person.blobs });
    const second = await elsewhere.stream().attach();
    await second.send(elsewhere.runRequest("again"));
    await second.downlink.ended();
    expect(second.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(second.downlink.kinds).toContain("kvServerMessage.getBlobArgs");
    expect(JSON.stringify(models.requests[0]?.messages)).toContain("PONG");
  });

  test("a blob that is not what its id says is refused, and nothing changes (HI-09)", async ({ node }) => {
    const { client } = openRoom(node.store, scriptedModels(say("PONG")));
    const person = client();
    const first = await person.stream().attach();
    await first.send(person.runRequest("ping"));
    await first.downlink.ended();
    const models = scriptedModels(say("never"));
    const other = openRoom(node.store, models).client(bob);
    Object.assign(other, { state: person.state });
    for (const [id] of person.blobs) other.blobs.set(id, new TextEncoder().encode("forged"));
    const stream = await other.stream().attach();
    await stream.send(other.runRequest("again"));
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "BLOB_INVALID" } }]);
    expect(models.requests).toHaveLength(0);
  });
});
