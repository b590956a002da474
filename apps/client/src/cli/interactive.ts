import type { Client, TurnWish } from "../client.ts";
import type { Conversation } from "../session/conversation.ts";
import type { Turn } from "../session/turn.ts";
import type { BackgroundEnd } from "../shells/shells.ts";
import type { Styles } from "../ui/style.ts";
import type { TerminalUser } from "../ui/terminal-user.ts";
import type { Terminal } from "../ui/terminal.ts";
import { oneLine, shorten } from "../ui/text.ts";
import { Transcript } from "../ui/transcript.ts";
import { COMMAND_HELP, readTyped, type Typed } from "./commands.ts";
import { EXIT } from "./exit.ts";

const IDLE_HINT = "type a message, or /help";
const BUSY_HINT = "type to add to what is going on";

/** The conversation at a terminal, line by line, until the user leaves. */
export class Interactive {
  readonly #client: Client;
  readonly #terminal: Terminal;
  readonly #styles: Styles;
  readonly #user: TerminalUser;
  #conversation: Conversation;
  #transcript: Transcript;
  #turn: Turn | undefined;
  /** Turns to do before the next line is read. */
  #next: TurnWish[] = [];
  #ended: BackgroundEnd[] = [];
  #wake = new AbortController();
  #leaving = false;

  constructor(client: Client, conversation: Conversation, terminal: Terminal, styles: Styles, user: TerminalUser) {
    this.#client = client;
    this.#terminal = terminal;
    this.#styles = styles;
    this.#user = user;
    this.#conversation = conversation;
    this.#transcript = this.#enter(conversation);
  }

  /** Gives the exit code. */
  async run(resumed: boolean): Promise<number> {
    this.#greet();
    if (resumed) await this.#offerOpenTurn();
    let pressed = false;
    while (!this.#leaving) {
      const wish = this.#next.shift();
      if (wish !== undefined) {
        await this.#take(wish);
        continue;
      }
      this.#terminal.hint(IDLE_HINT);
      const read = await this.#terminal.read(this.#wake.signal);
      if (read.kind === "line") {
        pressed = false;
        await this.#do(readTyped(read.text));
      } else if (this.#ended.length > 0) this.#reportEnded();
      else if (read.kind === "end" || pressed) break;
      else {
        pressed = true;
        this.#transcript.rows([this.#styles.dim("  Ctrl-C once more, or Ctrl-D, leaves.")]);
      }
    }
    return EXIT.ok;
  }

  #greet(): void {
    const { bold, dim } = this.#styles;
    const { model, mode } = this.#conversation;
    const width = this.#terminal.width;
    this.#transcript.rows([
      `${bold("Chartroom")} ${dim(shorten(`${model} · ${mode} mode · ${this.#client.folder}`, width - 10))}`,
      ...this.#client.mcpFailures.map(({ server, reason }) =>
        this.#styles.yellow(`MCP server ${server} did not start: ${oneLine(reason)}`),
      ),
    ]);
    this.#transcript.gap();
  }

  #enter(conversation: Conversation): Transcript {
    this.#conversation = conversation;
    const transcript = new Transcript(this.#terminal, this.#styles, this.#client.folder);
    this.#transcript = transcript;
    this.#user.transcript = transcript;
    conversation.shells.onBackgroundEnd((end) => this.#backgroundEnded(conversation, end));
    return transcript;
  }

  async #do(typed: Typed): Promise<void> {
    const { dim, red } = this.#styles;
    switch (typed.kind) {
      case "message":
        return void this.#next.push({ kind: "message", text: typed.text });
      case "nothing":
        return;
      case "help":
        return this.#transcript.rows([
          ...COMMAND_HELP.map(([command, what]) => `  ${command.padEnd(24)} ${dim(what)}`),
          dim("  Ctrl-C stops a turn, twice at once. Ctrl-J makes a new line."),
        ]);
      case "new":
        this.#enter(await this.#client.newConversation(this.#conversation.model, this.#conversation.mode));
        return this.#greet();
      case "summarize":
        return void this.#next.push({ kind: "summarize" });
      case "quit":
        this.#leaving = true;
        return;
      case "model":
        return this.#model(typed.id);
      case "mode":
        if (typed.mode !== undefined) this.#conversation.setMode(typed.mode);
        return this.#transcript.rows([`  ${this.#conversation.mode} mode`]);
      case "resume":
        return this.#resume(typed.id);
      case "unknown":
        return this.#transcript.rows([red(`  There is no /${oneLine(typed.word)}; /help shows what there is.`)]);
    }
  }

  async #model(id: string | undefined): Promise<void> {
    if (id !== undefined) {
      this.#conversation.setModel(id);
      return this.#transcript.rows([`  model ${oneLine(id)}`]);
    }
    const found = await this.#client.models();
    if (!found.ok)
      return this.#transcript.rows([this.#styles.red(`  ${found.failure.title}: ${found.failure.detail}`)]);
    this.#transcript.rows(
      found.models.map((model) => {
        const mark = model.id === this.#conversation.model ? "●" : " ";
        return `  ${mark} ${oneLine(model.id)}${model.name === model.id ? "" : this.#styles.dim(`  ${oneLine(model.name)}`)}`;
      }),
    );
  }

  async #resume(id: string | undefined): Promise<void> {
    const { dim, red } = this.#styles;
    if (id === undefined) {
      const records = await this.#client.conversations();
      return this.#transcript.rows(
        records.length === 0
          ? [dim("  no conversations of this folder yet")]
          : records.slice(0, 20).map((record) => {
              const when = new Date(record.updatedAt).toISOString().slice(0, 16).replace("T", " ");
              const mark = record.id === this.#conversation.id ? "●" : " ";
              return shorten(`  ${mark} ${record.id}  ${when}  ${oneLine(record.title)}`, this.#terminal.width);
            }),
      );
    }
    const conversation = /^[\w-]+$/.test(id) ? await this.#client.resumeConversation(id) : undefined;
    if (conversation === undefined)
      return this.#transcript.rows([red(`  There is no conversation ${oneLine(id)} here.`)]);
    this.#enter(conversation);
    this.#transcript.rows([`  ${oneLine(conversation.record.title)}`]);
    await this.#offerOpenTurn();
  }

  async #offerOpenTurn(): Promise<void> {
    const { openTurn } = this.#conversation;
    if (openTurn === undefined) return;
    this.#transcript.rows([
      `  The last turn was not finished: ${shorten(oneLine(openTurn.text), this.#terminal.width - 36)}`,
    ]);
    if ((await this.#terminal.key("Go on with it? [y]es  [n]o ", "yn")) === "y") this.#next.push({ kind: "resume" });
  }

  async #take(wish: TurnWish): Promise<void> {
    if (wish.kind === "message") {
      this.#transcript.rows(this.#echo(wish.text));
      this.#transcript.gap();
    }
    const turn = this.#client.runTurn(this.#conversation, wish);
    this.#turn = turn;
    let presses = 0;
    this.#terminal.hint(BUSY_HINT);
    this.#terminal.listen({
      line: (text) => this.#typedMeanwhile(turn, text),
      interrupt: () => {
        presses += 1;
        if (presses === 1) turn.cancel();
        else turn.leave();
      },
      end: () => {
        this.#leaving = true;
        turn.cancel();
      },
    });
    for await (const event of turn) this.#transcript.event(event);
    this.#terminal.listen(undefined);
    this.#turn = undefined;
    const { unsent, outcome } = await turn.result;
    this.#transcript.gap();
    // what came too late for this turn is the next one, under the id that it was sent with
    if (outcome === "completed") for (const message of unsent) this.#next.push({ kind: "message", ...message });
    else for (const { text } of unsent) this.#transcript.rows([this.#styles.yellow(`  not sent: ${oneLine(text)}`)]);
    if (this.#ended.length > 0) this.#reportEnded();
  }

  #typedMeanwhile(turn: Turn, line: string): void {
    const typed = readTyped(line);
    if (typed.kind === "message") {
      if (turn.say(typed.text) === undefined) this.#terminal.defer(line);
    } else if (typed.kind === "quit") {
      this.#leaving = true;
      turn.cancel();
    } else if (typed.kind !== "nothing") {
      this.#terminal.defer(line);
      this.#transcript.rows([this.#styles.dim(`  ${oneLine(line)} waits for the end of the turn.`)]);
    }
  }

  #backgroundEnded(conversation: Conversation, end: BackgroundEnd): void {
    const { dim } = this.#styles;
    const how = end.aborted ? "was stopped" : `ended with exit ${end.code}`;
    this.#transcript.rows([dim(`  ⧉ shell ${end.shell.id} ${how}: ${oneLine(end.shell.command)}`)]);
    if (conversation !== this.#conversation || this.#turn?.report([end]) === true) return;
    this.#ended.push(end);
    if (this.#turn !== undefined) return;
    // nothing goes on: the line that is waited for gives way
    this.#wake.abort();
  }

  #reportEnded(): void {
    this.#wake = new AbortController();
    this.#next.push({ kind: "background", ends: this.#ended.splice(0) });
  }

  #echo(text: string): string[] {
    const { cyan, bold } = this.#styles;
    return text
      .split("\n")
      .map(
        (line, index) => `${cyan(index === 0 ? "› " : "  ")}${bold(shorten(oneLine(line), this.#terminal.width - 2))}`,
      );
  }
}
