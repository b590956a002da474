import type { ConversationId } from "@chartroom/domain";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished } from "../support/wire-checks.ts";
import { unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

describe.each(WIRE_TRANSPORTS)("over %s", (transport) => {
  describe("the parent of a child conversation", () => {
    test("is the exact triple of conversation, Run and call; it stays through a restart and later Runs (ID-14)", async ({
      openNode,
    }) => {
      const first = await openNode();
      const models = scriptedModels(
        call({ name: "Shell", args: { command: "sleep 60" } }),
        say("Child."),
        say("Child again."),
      );
      const server = await startWireServer(first.store, models);
      const parent = server.client({ transport });
      const stream = parent.stream();
      await stream.send(parent.runRequest("Delegate"));
      await stream.down.sees("execServerMessage.shellStreamArgs");
      const [exec] = stream.down.execs;
      const callId = exec?.message.case === "shellStreamArgs" ? exec.message.value.toolCallId : "";
      const headers = { "x-parent-request-id": stream.requestId, "x-parent-agent-tool-call-id": callId };

      const child = server.client({ transport });
      const own = child.stream({ headers });
      await own.send(child.runRequest("Find it"));
      await own.down.over();
      expectFinished(own.down);
      const parentView = await first.store.inspect(parent.conversationId as ConversationId);
      const triple = { conversationId: parent.conversationId, runId: parentView?.runs[0]?.runId, callId };
      const parentOf = async (): Promise<unknown> =>
        (await first.store.inspect(child.conversationId as ConversationId))?.parent;
      expect(Object.values((await parentOf()) ?? {})).toEqual(Object.values(triple));
      // nothing of the child is kept in the parent
      expect(parentView?.parent).toBeUndefined();
      await server.stop();

      const second = await openNode();
      const after = await startWireServer(second.store, models);
      const again = child.twin(after.port);
      // another parent, and none: what is written stays
      for (const given of [{ "x-parent-request-id": unique("request"), "x-parent-agent-tool-call-id": "call_x" }, {}]) {
        models.answer(say("Child again."));
        const next = again.stream({ headers: given });
        await next.send(again.runRequest("Go on"));
        await next.down.over();
        expectFinished(next.down);
        expect(Object.values((await parentOf()) ?? {})).toEqual(Object.values(triple));
      }
      again.close();
      await after.stop();
    });

    test("that this server does not know: no triple, the Run is accepted", async ({ node }) => {
      const server = await startWireServer(node.store, scriptedModels(say("Child.")));
      const child = server.client({ transport });
      const stream = child.stream({
        headers: { "x-parent-request-id": unique("request"), "x-parent-agent-tool-call-id": "call_x" },
      });
      await stream.send(child.runRequest("Find it"));
      await stream.down.over();
      expectFinished(stream.down);
      const view = await node.store.inspect(child.conversationId as ConversationId);
      expect(view?.parent).toBeUndefined();
      await server.stop();
    });

    test.for(["x-parent-request-id", "x-parent-agent-tool-call-id"])(
      "named by %s alone is a protocol error, and no child is made (ID-15)",
      async (header, { node }) => {
        const models = scriptedModels(say("never"));
        const server = await startWireServer(node.store, models);
        const child = server.client({ transport });
        const stream = child.stream({ headers: { [header]: "call_x" } });
        const reply = await stream.send(child.runRequest("Find it"), { mayFail: true });
        if (transport === "sse") expect(JSON.parse(String(reply?.body))).toMatchObject({ code: "invalid_argument" });
        await stream.down.over();
        expectFailed(stream.down, "invalid_argument");
        expect(await node.store.inspect(child.conversationId as ConversationId)).toBeUndefined();
        expect(models.requests).toHaveLength(0);
        await server.stop();
      },
    );
  });

  test("expected_run_id is the wire run id; the request id and the id of a claim before it are not, that of the claim is (ID-07, LC-12)", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["Thinking"], gate.promise, say(".")), say("Done."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const first = person.stream();
    await first.send(person.runRequest("Go", { messageId: "m-1", runId: "wire-1" }));
    await first.down.says("Thinking");
    const states = (down = first.down): readonly string[] =>
      down.messages.flatMap(({ message }) =>
        message.case === "interactionUpdate" && message.value.message.case === "contextInjectionState"
          ? [`${message.value.message.value.injectionId}:${message.value.message.value.state?.state.case ?? ""}`]
          : [],
      );
    for (const [id, expected] of [
      ["by-request", first.requestId],
      ["by-none", ""],
      ["by-claim", "wire-2"],
    ] as const) {
      // twice: one rejection
      await first.inject(id, expected, "no");
      await first.inject(id, expected, "no");
    }
    await first.down.until(() => states().length === 3, "three rejections");
    expect(states()).toEqual(["by-request:rejected", "by-none:rejected", "by-claim:rejected"]);

    const second = person.stream();
    await second.send(person.runRequest("Go", { messageId: "m-1", runId: "wire-2" }));
    await second.down.says("Thinking");
    await second.inject("right", "wire-2", "Be brief");
    await second.inject("right", "wire-2", "Be brief");
    await second.down.over();
    expectFinished(second.down);
    expect(states(second.down).slice(-2)).toEqual(["right:queued", "right:delivered"]);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("Be brief");
    expect(second.down.kinds.filter((kind) => kind === "interactionUpdate.userMessageAppended")).toHaveLength(1);
    await server.stop();
  });
});
