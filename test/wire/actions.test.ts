import { agent, create, toBinary, wrap } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { readAnswer, unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

/** An action of a client that is newer than this server: field 60 of `ConversationAction`. */
const newer = wrap([60], Buffer.from("from a newer client"));

describe.each(WIRE_TRANSPORTS)("actions over %s", (transport) => {
  test("that this server does not know: a request is answered with an empty finished turn, on a live stream nothing happens (LC-13)", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["Busy"], gate.promise, say(".")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.says("Busy");
    await stream.send(wrap([4], newer));
    await stream.action({ case: "shellCommandAction", value: { shellCommand: { command: "ls" } } });
    const asked = person.stream();
    const request = create(agent.AgentRunRequestSchema, {
      conversationId: person.conversationId,
      conversationState: {},
    });
    await asked.send(wrap([1], Buffer.concat([toBinary(agent.AgentRunRequestSchema, request), wrap([2], newer)])));
    await asked.down.over();
    expect(asked.down.ends).toEqual([{ kind: "completed" }]);
    expect(asked.down.kinds.at(-1)).toBe("interactionUpdate.turnEnded");
    gate.resolve();
    await stream.down.over();
    expectFinished(stream.down);
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    expect(server.events.filter((event) => event.type === "input.dropped").length).toBeGreaterThanOrEqual(3);
    await server.stop();
  });

  test("a completion of a background task starts a Run; the same again is an empty finished turn", async ({ node }) => {
    const models = scriptedModels(say("First."), say("It has ended."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const opening = person.stream();
    await opening.send(person.runRequest("Start it"));
    await opening.down.over();
    const completion = () =>
      person.action({
        case: "backgroundTaskCompletionAction",
        value: {
          completions: [
            { kind: agent.BackgroundTaskKind.SHELL, taskId: "task-1", title: "npm run dev", detail: "exit 0" },
          ],
        },
      });
    const told = person.stream();
    await told.send(completion());
    await told.down.over();
    expectFinished(told.down);
    expect(told.down.text).toBe("It has ended.");
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("npm run dev");
    for (let again = 0; again < 2; again++) {
      const repeat = person.stream();
      await repeat.send(completion());
      await repeat.down.over();
      expect(repeat.down.ends).toEqual([{ kind: "completed" }]);
      expect(repeat.down.text).toBe("");
    }
    expect(models.requests).toHaveLength(2);
    await server.stop();
  });

  test("a Run that loops over tools ends at its limit with a reason; its history is kept (LC-23)", async ({ node }) => {
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }));
    const server = await startWireServer(node.store, models, { settings: { maxSteps: 5 } });
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const stream = person.stream();
    await stream.send(person.runRequest("Loop"));
    await stream.down.over();
    expectFailed(stream.down, "resource_exhausted");
    expect(models.requests).toHaveLength(5);
    models.answer(say("Enough."));
    const next = person.stream();
    await next.send(person.runRequest("Go on"));
    await next.down.over();
    expectFinished(next.down);
    expect(models.requests.at(-1)?.messages.filter(({ role }) => role === "tool").length).toBeGreaterThanOrEqual(4);
    await server.stop();
  });

  test("a prewarm prepares and opens no Run; the request behind it is the first of its generation", async ({
    node,
  }) => {
    const models = scriptedModels(say("Warm."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send({
      message: {
        case: "prewarmRequest",
        value: {
          conversationId: person.conversationId,
          conversationState: {},
          requestedModel: { modelId: "demo-model" },
        },
      },
    });
    expect(await runStatuses(node.store, person.conversationId)).toEqual([]);
    await stream.send(person.runRequest("Go"));
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("Warm.");
    await server.stop();
  });

  test("plan actions are turns with their message as the opening", async ({ node }) => {
    const models = scriptedModels(say("Planned."), say("Done."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    for (const [action, text] of [
      [
        {
          case: "startPlanAction",
          value: { userMessage: { text: "Plan the move", messageId: unique("message"), mode: agent.AgentMode.PLAN } },
        },
        "Plan the move",
      ],
      [
        { case: "executePlanAction", value: { planFileContent: "1. pack", kickoffMessageId: unique("message") } },
        "1. pack",
      ],
    ] as const) {
      const stream = person.stream();
      await stream.send(person.action(action));
      await stream.down.over();
      expectFinished(stream.down);
      expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain(text);
    }
    await server.stop();
  });
});
