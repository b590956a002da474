import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { openRoom } from "../support/room.ts";
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
