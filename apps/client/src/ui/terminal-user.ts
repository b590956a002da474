import type { ApprovalAnswer, ApprovalRequest, User, UserAnswer, UserQuestion } from "../execution/consent.ts";
import { approvalQuestion, approvalRows } from "./blocks.ts";
import type { Styles } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { oneLine } from "./text.ts";
import type { Transcript } from "./transcript.ts";

/** The person at the terminal. */
export class TerminalUser implements User {
  readonly #terminal: Terminal;
  readonly #styles: Styles;
  /** Set once there is a conversation to write about. */
  transcript: Transcript | undefined;

  constructor(terminal: Terminal, styles: Styles) {
    this.#terminal = terminal;
    this.#styles = styles;
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    this.#rows(approvalRows(request, this.#styles, this.#terminal.width));
    const key = await this.#terminal.key(approvalQuestion(request), "yna", signal);
    const answer = key === "y" ? "yes" : key === "a" ? "always" : "no";
    const verdict = {
      yes: this.#styles.green("✓ allowed"),
      always: this.#styles.green("✓ always allowed"),
      no: this.#styles.red("✗ refused"),
    };
    this.#rows([`  ${verdict[answer]}`]);
    if (request.kind === "write" && answer !== "no") this.transcript?.changeShown(request.path);
    return answer;
  }

  async answer(
    title: string,
    questions: readonly UserQuestion[],
    signal: AbortSignal,
  ): Promise<readonly UserAnswer[] | undefined> {
    if (title !== "") this.#rows([`${this.#styles.yellow("?")} ${this.#styles.bold(oneLine(title))}`]);
    const answers: UserAnswer[] = [];
    for (const question of questions) {
      this.#rows([
        `${this.#styles.yellow("?")} ${oneLine(question.prompt)}`,
        ...question.options.map(({ label }, index) => `  ${index + 1}. ${oneLine(label)}`),
      ]);
      const typed = await this.#terminal.line(promptFor(question), signal);
      if (typed === undefined) return undefined;
      const answer = readAnswer(question, typed);
      this.#rows([`  ${this.#styles.green("✓")} ${oneLine(typed) || "no answer"}`]);
      answers.push(answer);
    }
    return answers;
  }

  #rows(rows: readonly string[]): void {
    if (this.transcript === undefined) for (const row of rows) this.#terminal.row(row);
    else this.transcript.rows(rows);
  }
}

function promptFor({ options, allowMultiple }: UserQuestion): string {
  if (options.length === 0) return "answer › ";
  return allowMultiple ? `1–${options.length}, several with commas › ` : `1–${options.length} or words › `;
}

/** Numbers and letters of options, or words of one's own. */
export function readAnswer({ id, options, allowMultiple }: UserQuestion, typed: string): UserAnswer {
  const text = typed.trim();
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const chosen = parts.map((part) => (/^\d+$/.test(part) ? options[Number(part) - 1] : undefined));
  const numbers =
    chosen.length > 0 && (allowMultiple || chosen.length === 1) && chosen.every((one) => one !== undefined);
  if (numbers) return { questionId: id, optionIds: chosen.flatMap((one) => (one ? [one.id] : [])), text: "" };
  const named = options.find(({ label }) => label.toLowerCase() === text.toLowerCase());
  if (named !== undefined) return { questionId: id, optionIds: [named.id], text: "" };
  return { questionId: id, optionIds: [], text };
}
