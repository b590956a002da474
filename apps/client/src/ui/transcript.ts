import type { ToolView, TurnEvent } from "../session/events.ts";
import { diffRows, resultRows, seconds, short, usageRow } from "./blocks.ts";
import { diffLines } from "./diff.ts";
import { Flow, type Look } from "./flow.ts";
import type { Styles } from "./style.ts";
import { oneLine, sanitize, shorten } from "./text.ts";
import { bodyOf, editOf, isLong, relative, summaryOf, titleOf } from "./tool-text.ts";

/** Where a transcript is written to. */
export interface Paper {
  /** A finished row. */
  row(text: string): void;
  /** The row under way. */
  partial(text: string | undefined): void;
  /** What goes on at the moment, in a few words; undefined when nothing does. */
  status(text: string | undefined): void;
  readonly width: number;
  /** Rows longer than the width break the picture. */
  readonly isTerminal: boolean;
}

const MAX_OUTPUT_ROWS = 60;
const MAX_BODY_ROWS = 12;

/** Kinds of what stands on the paper; running text is set off from the rest by an empty row. */
type Block = "text" | "thinking" | "rows";

interface Card {
  readonly view: ToolView;
  /** Rows of output shown. */
  rows: number;
  hidden: number;
}

/** Writes down what a turn tells, for people. */
export class Transcript {
  readonly #paper: Paper;
  readonly #styles: Styles;
  readonly #folder: string;
  readonly #flow: Flow;
  readonly #textLook: Look;
  readonly #thinkingLook: Look;
  readonly #outputLook: Look;
  readonly #cards = new Map<string, Card>();
  /** The card that output was written under last. */
  #current: string | undefined;
  /** Paths whose change was shown in a question. */
  readonly #shownChanges = new Set<string>();
  #outputRow = "";
  #tokens = 0;
  #context: { used: number; max: number } | undefined;
  #last: Block | undefined;

  constructor(paper: Paper, styles: Styles, folder: string) {
    this.#paper = paper;
    this.#styles = styles;
    this.#folder = folder;
    this.#flow = new Flow(paper, () => paper.width, paper.isTerminal);
    this.#textLook = { prefix: "", paint: (text) => text };
    this.#thinkingLook = { prefix: "┊ ", paint: styles.dim };
    this.#outputLook = { prefix: "  │ ", paint: styles.dim };
  }

  /** A change that a question showed already is not shown again when it is done. */
  changeShown(path: string): void {
    this.#shownChanges.add(path);
  }

  /** Writes rows of others below what is there. */
  rows(rows: readonly string[]): void {
    this.#begin("rows");
    for (const row of rows) this.#paper.row(row);
    this.#current = undefined;
  }

  /** Sets what follows off from what is there. */
  gap(): void {
    this.#begin("rows");
    this.#paper.row("");
    this.#last = undefined;
  }

  event(event: TurnEvent): void {
    const { dim, yellow, cyan } = this.#styles;
    switch (event.type) {
      case "turn.started":
        if (event.attempt === 1) this.#tokens = 0;
        return this.#status("waiting");
      case "text":
        return this.#text(event.text);
      case "thinking":
        this.#begin("thinking");
        this.#flow.write(event.text, this.#thinkingLook);
        return this.#status("thinking");
      case "thinking.completed":
        this.#begin("thinking");
        this.#flow.end();
        if (event.durationMs > 0) this.#paper.row(dim(`┊ thought for ${seconds(event.durationMs)}`));
        return;
      case "notice":
        return this.rows(this.#wrapped(event.text, "› ").map(yellow));
      case "tool.partial":
        return this.#status(this.#naming(event));
      case "tool.started":
        return this.#started(event);
      case "tool.output":
        return this.#output(event.callId, event.stream, event.text);
      case "tool.completed":
        return this.#completed(event);
      case "query":
        if (event.text !== undefined) this.#text(`\n${event.text}\n`);
        if (event.mode !== undefined) this.rows([cyan(`→ ${oneLine(event.mode)} mode from the next message on`)]);
        return;
      case "subagent":
        return this.#subagent(event.toolCallId, event.event);
      case "tokens":
        this.#tokens = event.output;
        return;
      case "checkpoint":
        if (event.maxTokens > 0) this.#context = { used: event.usedTokens, max: event.maxTokens };
        return;
      case "summary.started":
        this.rows([cyan("≡ Summarizing the conversation")]);
        return this.#status("summarizing");
      case "summary":
        return this.rows(this.#wrapped(event.text, "  ").map(dim));
      case "message.sent":
        return this.rows([cyan(`» ${shorten(oneLine(event.text), this.#paper.width - 2)}`)]);
      case "injection":
        return this.rows([
          cyan(`» injection ${event.state}${event.reason === "" ? "" : `: ${oneLine(event.reason)}`}`),
        ]);
      case "model":
        return this.rows([dim(`model: ${oneLine(event.name)}`)]);
      case "suggestion":
        return this.rows([dim(`next: ${oneLine(event.text)}`)]);
      case "stalled":
        return this.#status(`nothing came for ${seconds(event.silentMs)}`);
      case "retry": {
        this.rows(this.#wrapped(`${event.reason} Trying again in ${seconds(event.delayMs)}.`, "↻ ").map(yellow));
        return this.#status("reconnecting");
      }
      case "restarted":
        return this.rows([yellow("↻ The answer begins anew:")]);
      case "cancelling":
        return this.#status("stopping");
      case "result":
        return this.#result(event);
      case "exec.started":
      case "exec.completed":
      case "summary.completed":
      case "message.appended":
      case "step":
      case "turn.ended":
      case "other":
        return;
    }
  }

  #text(text: string): void {
    this.#begin("text");
    this.#flow.write(text, this.#textLook);
    this.#status("answering");
  }

  /** What follows is of this kind: ends what is under way, unless it is running text of the same kind. */
  #begin(block: Block): void {
    if (block !== this.#last || block === "rows") {
      this.#flushOutput();
      this.#flow.end();
    }
    if (this.#last !== undefined && block !== this.#last) this.#paper.row("");
    this.#last = block;
    if (block !== "rows") this.#current = undefined;
  }

  #started(view: ToolView): void {
    this.#cards.set(view.callId, { view, rows: 0, hidden: 0 });
    // on a terminal the status tells of it, and the question whether it may be done comes before its card
    if (isLong(view.tool) && !this.#paper.isTerminal) this.#head(view);
    this.#status(this.#naming(view));
  }

  #head(view: ToolView): void {
    this.#begin("rows");
    this.#paper.row(this.#titleRow(view));
    this.#current = view.callId;
  }

  #titleRow(view: ToolView, more = ""): string {
    const { bold, cyan, red, dim } = this.#styles;
    const { verb, about } = titleOf(view, this.#folder);
    const failed = view.outcome !== undefined && view.outcome !== "success";
    const room = Math.max(10, this.#paper.width - verb.length - 5 - more.length);
    const mark = failed ? red("●") : cyan("●");
    const tail = more === "" ? "" : `  ${failed ? red(more) : dim(more)}`;
    return `${mark} ${bold(verb)} ${shorten(oneLine(about), room)}${tail}`.trimEnd();
  }

  #output(callId: string, stream: "stdout" | "stderr" | "edit", text: string): void {
    const card = this.#cards.get(callId);
    // what an edit streams is shown as a diff when it is done
    if (card === undefined || stream === "edit") return;
    if (this.#current !== callId) this.#head(card.view);
    const rows = (this.#outputRow + sanitize(text)).split("\n");
    this.#outputRow = rows.pop() ?? "";
    for (const row of rows) this.#outputLine(card, row);
    this.#paper.partial(
      this.#outputRow === "" || card.rows >= MAX_OUTPUT_ROWS ? undefined : this.#outputText(this.#outputRow),
    );
  }

  #outputLine(card: Card, row: string): void {
    if (card.rows >= MAX_OUTPUT_ROWS) {
      card.hidden += 1;
      return;
    }
    card.rows += 1;
    this.#paper.row(this.#outputText(row));
  }

  #outputText(row: string): string {
    const { prefix, paint } = this.#outputLook;
    return paint(prefix + (this.#paper.isTerminal ? shorten(row, this.#paper.width - prefix.length) : row)).trimEnd();
  }

  #flushOutput(): void {
    const card = this.#current === undefined ? undefined : this.#cards.get(this.#current);
    if (this.#outputRow !== "" && card !== undefined) this.#outputLine(card, this.#outputRow);
    this.#outputRow = "";
    this.#paper.partial(undefined);
  }

  #completed(view: ToolView): void {
    const card = this.#cards.get(view.callId);
    const summary = oneLine(summaryOf(view));
    if (isLong(view.tool)) {
      if (this.#current !== view.callId) this.#head(view);
      this.#flushOutput();
      if ((card?.rows ?? 0) === 0) this.#body(view);
      const hidden = card?.hidden ?? 0;
      const end = [hidden > 0 ? `${hidden} more rows` : "", summary === "" ? "done" : summary]
        .filter(Boolean)
        .join(" · ");
      const paint = view.outcome === "success" ? this.#styles.dim : this.#styles.red;
      this.#paper.row(paint(shorten(`  └ ${end}`, this.#paper.width)));
    } else {
      this.#begin("rows");
      this.#paper.row(this.#titleRow(view, shorten(summary, Math.floor(this.#paper.width / 2))));
      this.#change(view);
      this.#body(view);
    }
    this.#cards.delete(view.callId);
    this.#current = undefined;
    this.#status("waiting");
  }

  #change(view: ToolView): void {
    const edit = editOf(view);
    if (edit === undefined) return;
    const path = relative(titleOf(view, this.#folder).about, this.#folder);
    if (this.#shownChanges.delete(path)) return;
    for (const row of diffRows(diffLines(edit.before, edit.after), this.#styles, this.#paper.width))
      this.#paper.row(row);
  }

  #body(view: ToolView): void {
    const lines = sanitize(bodyOf(view)).trimEnd().split("\n");
    if (lines.length === 1 && lines[0] === "") return;
    for (const line of lines.slice(0, MAX_BODY_ROWS)) this.#paper.row(this.#outputText(line));
    const more = lines.length - MAX_BODY_ROWS;
    if (more > 0) this.#paper.row(this.#outputText(`… ${more} more rows`));
  }

  #subagent(toolCallId: string, event: TurnEvent): void {
    if (event.type === "tool.completed") {
      this.#begin("rows");
      const { verb, about } = titleOf(event, this.#folder);
      this.#paper.row(this.#outputText(`${verb} ${oneLine(about)}`));
      this.#current = undefined;
    }
    if (event.type === "retry")
      this.rows([this.#styles.yellow(`  ↻ subagent ${toolCallId}: ${oneLine(event.reason)}`)]);
  }

  #result(event: Extract<TurnEvent, { type: "result" }>): void {
    this.#flushOutput();
    this.#flow.end();
    this.#cards.clear();
    const ending = resultRows(event, this.#styles);
    if (ending.length > 0) this.rows(ending);
    const usage = usageRow(event.usage, this.#context);
    if (usage !== "") this.#paper.row(this.#styles.dim(`  ${usage}`));
    this.#last = undefined;
    this.#paper.status(undefined);
  }

  #naming(view: ToolView): string {
    const { verb, about } = titleOf(view, this.#folder);
    return oneLine(`${verb} ${about}`);
  }

  #status(text: string): void {
    const tokens = this.#tokens === 0 ? "" : ` · ${short(this.#tokens)} tokens`;
    this.#paper.status(text + tokens);
  }

  #wrapped(text: string, prefix: string): string[] {
    const rows: string[] = [];
    const output = { row: (row: string) => rows.push(row), partial: () => undefined };
    const flow = new Flow(output, () => this.#paper.width - prefix.length, this.#paper.isTerminal);
    flow.write(text.trim(), this.#textLook);
    flow.end();
    return rows.map((row, index) => (index === 0 ? prefix : " ".repeat(prefix.length)) + row);
  }
}
