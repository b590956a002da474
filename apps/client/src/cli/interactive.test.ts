import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { Stage } from "../../test/clients.ts";
import type { FakeRun, FakeServer } from "../../test/fake-server.ts";
import { Screen } from "../../test/screen.ts";
import { stylesFor } from "../ui/style.ts";
import { Terminal } from "../ui/terminal.ts";
import { TerminalUser } from "../ui/terminal-user.ts";
import { Interactive } from "./interactive.ts";

vi.setConfig({ testTimeout: 30_000 });

const styles = stylesFor(false);
let stage: Stage;
let screen: Screen;
let terminal: Terminal;
beforeEach(async () => {
  stage = await Stage.open();
  screen = new Screen(80);
  terminal = new Terminal(screen.stdin, screen.stdout, styles);
});
afterEach(async () => {
  terminal.close();
  await stage.close();
});

/** Begins at the terminal; `ended` is for the exit code. */
async function chat(server: FakeServer, resume = false): Promise<{ readonly ended: Promise<number> }> {
  const user = new TerminalUser(terminal, styles);
  const client = await stage.client(server, undefined, { user });
  const conversation = resume ? await client.resumeConversation() : await client.newConversation("demo");
  if (conversation === undefined) throw new Error("nothing to resume");
  return { ended: new Interactive(client, conversation, terminal, styles, user).run(resume) };
}

const sees = (text: string | RegExp) =>
  text instanceof RegExp ? eventually(() => screen.text).toMatch(text) : eventually(() => screen.text).toContain(text);

function conversationOf({ received: [first] }: FakeRun): string | undefined {
  return first?.message.case === "runRequest" ? first.message.value.conversationId : undefined;
}

async function answer(run: FakeRun, text: string): Promise<void> {
  run.text(text);
  run.turnEnded();
  run.end();
}

describe("at the terminal", () => {
  it("a message is answered, and another one in the same conversation", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await answer(run, `Answer ${server.runs.length}.`);
    });
    const { ended } = await chat(server);
    await sees("type a message, or /help");
    screen.type("Hello\r");
    await sees(/› Hello\n\nAnswer 1\.\n {2}100 in · 20 out\n\n› type a message/);
    screen.type("Again\r");
    await sees("Answer 2.");
    const ids = server.runs.map(conversationOf);
    expect(new Set(ids).size).toBe(1);
    screen.type("/quit\r");
    expect(await ended).toBe(0);
  });

  it("a change is asked for and made after a yes; a command is not run after a no", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await run.exec(1, { execId: "w", message: { case: "writeArgs", value: { path: "a.txt", fileText: "new\n" } } });
      await run.exec(2, { execId: "s", message: { case: "shellStreamArgs", value: { command: "touch b.txt" } } });
      await answer(run, "So be it.");
    });
    await stage.write("a.txt", "old\n");
    await chat(server);
    screen.type("Go\r");
    await sees(/\? Change a\.txt {2}\+1 −1\n {2}1 - old\n {2}1 \+ new\n[^]*Allow\? \[y\]es {2}\[n\]o/);
    screen.type("y");
    await sees(/✓ allowed\n\? Run\n {2}\$ touch b\.txt[^]*Allow\?/);
    screen.type("n");
    await sees(/✗ refused\n\nSo be it\./);
    expect(await stage.text("a.txt")).toBe("new\n");
    await expect(stage.text("b.txt")).rejects.toThrow("ENOENT");
  });

  it("a line typed meanwhile joins the turn; Ctrl-C stops it", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("Working.");
      const { action } = await run.next("conversationAction");
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.text("Now this.");
      await run.next("conversationAction");
      run.end({ code: "CANCELLED", title: "x", detail: "", retryable: false });
    });
    await chat(server);
    screen.type("Go\r");
    await sees("Working.");
    screen.type("/model\r");
    await sees("/model waits for the end of the turn.");
    screen.type("Rather this\r");
    await sees(/» Rather this\n\nNow this\./);
    screen.type("\x03");
    await sees(/■ Stopped\.\n\n {2}● demo {2}Demo\n› type a message/);
    expect(server.runs).toHaveLength(1);
  });

  it("commands", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (request.action?.action.case === "summarizeAction")
        run.update({ case: "summary", value: { summary: "Short." } });
      await answer(run, `${request.requestedModel?.modelId}.`);
    });
    await chat(server);
    screen.type("/nonsense\r/help\r/model\r/model other\r/mode ask\r");
    await sees(/There is no \/nonsense[^]*\/summarize[^]*● demo {2}Demo\n {2}model other\n {2}ask mode/);
    screen.type("Hi\r");
    await sees("other.");
    screen.type("/summarize\r");
    await sees(/Short\.[^]*› type a message/);
    screen.type("/resume\r");
    await sees(/● [\w-]{36} {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}Hi/);
    const first = /● ([\w-]{36})/.exec(screen.text)?.[1] ?? "";
    screen.type("/new\r/resume nothing\r");
    await sees("There is no conversation nothing here.");
    screen.type("Other\r");
    await sees(/› Other\n\nother\./);
    screen.type(`/resume ${first}\r`);
    await sees(/\n {2}Hi\n› type a message/);
    screen.type("Back\r");
    await sees(/› Back\n\nother\./);
    const ids = server.runs.map(conversationOf);
    expect(ids).toEqual([first, first, expect.not.stringContaining(first), first]);
  });

  it("a turn that was cut off is offered again", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      if (server.runs.length > 1) await answer(run, "Finished.");
    });
    const client = await stage.client(server);
    client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Long work" });
    await server.run(0);
    await eventually(async () => (await client.conversations()).length).toBe(1);
    await chat(server, true);
    await sees(/The last turn was not finished: Long work[^]*Go on with it\?/);
    screen.type("y");
    await sees("Finished.");
    expect(server.runs).toHaveLength(2);
  });

  it("the end of a command in the background begins a turn when nothing goes on", async () => {
    const server = await stage.serve(async (run) => {
      const { action } = await run.next("runRequest");
      if (action?.action.case === "backgroundTaskCompletionAction") return answer(run, "I see.");
      const value = { command: "until [ -e gate ]; do sleep 0.02; done; exit 4", isBackground: true, toolCallId: "bg" };
      await run.exec(1, { execId: "bg", message: { case: "shellStreamArgs", value } });
      return answer(run, "Started.");
    });
    await chat(server);
    screen.type("Go\r");
    await sees("Allow?");
    screen.type("y");
    await sees("Started.");
    await stage.write("gate", "");
    await sees(/⧉ shell 1 ended with exit 4: until[^]*I see\./);
    expect(server.runs).toHaveLength(2);
  });

  it("Ctrl-C twice at the empty line leaves, and so does Ctrl-D", async () => {
    const server = await stage.serve(() => undefined);
    const first = await chat(server);
    screen.type("\x03");
    await sees("Ctrl-C once more");
    screen.type("\x03");
    expect(await first.ended).toBe(0);
    const second = await chat(server);
    screen.type("\x04");
    expect(await second.ended).toBe(0);
  });
});
