import { AgentMode } from "@chartroom/protocols/agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventsOf, only, resultOf, say, Stage } from "../../test/clients.ts";

vi.setConfig({ testTimeout: 30_000 });

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

describe("while a turn runs", () => {
  it("a line is sent as a user message and becomes part of it", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("Working. ");
      const { action } = await run.next("conversationAction");
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      expect(action.value.userMessage).toMatchObject({ text: "Stop that", mode: AgentMode.AGENT });
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.text("Stopped.");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    const sent = turn.say("Stop that");
    const events = await eventsOf(turn);
    expect(only(events, "message.sent")).toEqual([{ type: "message.sent", ...sent }]);
    expect(only(events, "message.appended")).toEqual([{ type: "message.appended", ...sent }]);
    expect(resultOf(events)).toMatchObject({ text: "Working. Stopped.", unsent: [] });
  });

  it("a follow-up on the same stream goes on after the end of the turn", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("One. ");
      run.turnEnded();
      const { action } = await run.next("conversationAction");
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.text("Two.");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    turn.say("And then?");
    expect(await turn.result).toMatchObject({ outcome: "completed", text: "One. Two.", unsent: [] });
  });

  it("a message that the server did not take is given back", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await run.next("conversationAction");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    const sent = turn.say("Too late");
    expect((await turn.result).unsent).toEqual([sent]);
    expect(turn.say("Even later")).toBeUndefined();
  });

  it("a message survives a drop: it goes out again on the new stream under its id", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const { action } = await run.next("conversationAction");
      if (server.runs.length === 1) return run.drop();
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    const sent = turn.say("Also this");
    const events = await eventsOf(turn);
    expect(only(events, "message.appended")).toEqual([{ type: "message.appended", ...sent }]);
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 2, unsent: [] });
  });

  it("an injection names the run, and its states are told", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      run.text("x");
      const { action } = await run.next("conversationAction");
      if (action.case !== "injectContextAction") throw new Error(`got ${action.case}`);
      const { injectionId, expectedRunId, payload } = action.value;
      expect(expectedRunId).toBe(request.runId);
      expect(payload).toMatchObject({ case: "userContext", value: { userMessage: { text: "Note" } } });
      run.update({
        case: "contextInjectionState",
        value: { injectionId, state: { state: { case: "rejected", value: { reason: "no" } } } },
      });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    let injectionId = "";
    const events = [];
    for await (const event of turn) {
      if (event.type === "text") injectionId = turn.inject("Note");
      events.push(event);
    }
    expect(only(events, "injection")).toEqual([{ type: "injection", injectionId, state: "rejected", reason: "no" }]);
  });

  it("questions of the server are answered, each once", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const ask = (id: number, query: object) => {
        run.send({ case: "interactionQuery", value: { id, query } as never });
        return run.next("interactionResponse");
      };
      const question = { id: "q", prompt: "?", options: [{ id: "a", label: "A" }] };
      expect(
        await ask(1, { case: "askQuestionInteractionQuery", value: { args: { questions: [question] } } }),
      ).toMatchObject({
        id: 1,
        result: {
          value: { result: { result: { case: "success", value: { answers: [{ selectedOptionIds: ["a"] }] } } } },
        },
      });
      expect(await ask(2, { case: "webSearchRequestQuery", value: { args: { searchTerm: "x" } } })).toMatchObject({
        id: 2,
        result: { case: "webSearchRequestResponse", value: { result: { case: "approved" } } },
      });
      expect(await ask(3, { case: "switchModeRequestQuery", value: { args: { targetModeId: "plan" } } })).toMatchObject(
        {
          id: 3,
          result: { value: { result: { case: "approved" } } },
        },
      );
      expect(
        await ask(4, { case: "createPlanRequestQuery", value: { args: { name: "A plan", plan: "# Plan" } } }),
      ).toMatchObject({
        id: 4,
        result: {
          value: { result: { result: { case: "success" }, planUri: expect.stringMatching(/^file:.*-a-plan\.md$/) } },
        },
      });
      expect(await ask(5, { case: "mcpAuthRequestQuery", value: {} })).toMatchObject({
        id: 5,
        result: { value: { result: { case: "rejected" } } },
      });
      expect(await ask(6, { case: "setupVmEnvironmentArgs", value: {} })).toMatchObject({ id: 6, result: {} });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const conversation = await client.newConversation("demo");
    const events = await say(client, conversation, "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed" });
    expect(only(events, "query").map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      "askQuestion success",
      "webSearch approved",
      "switchMode approved",
      "createPlan success",
      "mcpAuth rejected",
      "setupVmEnvironment rejected",
    ]);
    expect(conversation.mode).toBe("plan");
  });

  it("a subagent is a run of its own, whose last words are the result", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (request.subagentTypeName === undefined) {
        const args = {
          toolCallId: "call_task",
          subagentType: "explore",
          modelId: "other",
          prompt: "Find it",
          rootParentConversationId: request.conversationId ?? "",
        };
        const [answer] = await run.exec(1, { execId: "call_task", message: { case: "subagentArgs", value: args } });
        expect(answer?.message.value).toMatchObject({
          message: {
            case: "subagentResult",
            value: { result: { case: "success", value: { finalMessage: "Found.", toolCallCount: 1 } } },
          },
        });
      } else {
        expect(request).toMatchObject({
          subagentTypeName: "explore",
          requestedModel: { modelId: "other" },
          action: { action: { value: { userMessage: { text: "Find it" } } } },
        });
        expect(run.headers).toMatchObject({
          "x-parent-request-id": server.runs[0]?.requestId,
          "x-parent-agent-tool-call-id": "call_task",
        });
        run.update({
          case: "toolCallStarted",
          value: { callId: "c", toolCall: { tool: { case: "readToolCall", value: {} } } } as never,
        });
        run.text("Found.");
      }
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed" });
    expect(only(events, "subagent").map(({ event }) => event.type)).toContain("text");
    expect(await client.conversations()).toHaveLength(1);
  });

  it("a subagent whose call id cannot be a header is a typed error", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const value = { toolCallId: "a\nb", prompt: "x" };
      const [answer] = await run.exec(1, { execId: "e", message: { case: "subagentArgs", value } });
      expect(answer?.message.value).toMatchObject({ message: { value: { result: { case: "error" } } } });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events).outcome).toBe("completed");
  });

  it("the end of a command in the background is reported on the live stream", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await run.exec(1, {
        execId: "call_bg",
        message: { case: "shellStreamArgs", value: { command: "exit 3", isBackground: true, toolCallId: "call_bg" } },
      });
      const { action } = await run.next("conversationAction");
      expect(action).toMatchObject({
        case: "backgroundTaskCompletionAction",
        value: { completions: [{ taskId: "1", toolCallId: "call_bg", detail: "exit code 3" }] },
      });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const conversation = await client.newConversation("demo");
    const turn = client.runTurn(conversation, { kind: "message", text: "Go" });
    conversation.shells.onBackgroundEnd((end) => expect(turn.report([end])).toBe(true));
    expect(await turn.result).toMatchObject({ outcome: "completed" });
    expect(turn.report([])).toBe(false);
  });

  it("a summary is asked for and shown", async () => {
    const server = await stage.serve(async (run) => {
      expect((await run.next("runRequest")).action?.action.case).toBe("summarizeAction");
      run.update({ case: "summaryStarted", value: {} });
      run.update({ case: "summary", value: { summary: "Short." } });
      run.update({ case: "summaryCompleted", value: {} });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const events = await eventsOf(client.runTurn(await client.newConversation("demo"), { kind: "summarize" }));
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("summary"))).toEqual([
      "summary.started",
      "summary",
      "summary.completed",
    ]);
  });
});
