/** What the user is asked before it is done. */
export type ApprovalRequest =
  | { readonly kind: "write"; readonly path: string; readonly before: string | undefined; readonly after: string }
  | { readonly kind: "delete"; readonly path: string }
  | {
      readonly kind: "command";
      readonly command: string;
      readonly cwd: string;
      readonly description: string;
      readonly background: boolean;
    }
  | { readonly kind: "mcp"; readonly server: string; readonly tool: string; readonly args: string }
  /** Something that the server does itself after an approval (wire section 6). */
  | { readonly kind: "server"; readonly what: string; readonly detail: string };

export type ApprovalAnswer = "yes" | "no" | "always";

export interface UserQuestion {
  readonly id: string;
  readonly prompt: string;
  readonly options: readonly { readonly id: string; readonly label: string }[];
  readonly allowMultiple: boolean;
}

export interface UserAnswer {
  readonly questionId: string;
  readonly optionIds: readonly string[];
  readonly text: string;
}

/** Whoever decides: a person at a terminal, or a rule. */
export interface User {
  /** Answers once; an aborted signal ends the question, the answer then counts for nothing. */
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
  /** Answers to all questions, or undefined when the user does not want to answer. */
  answer(
    title: string,
    questions: readonly UserQuestion[],
    signal: AbortSignal,
  ): Promise<readonly UserAnswer[] | undefined>;
}

export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Says yes to everything and takes the first option of each question: for scripts that were started so. */
export const yesUser: User = {
  approve: () => Promise.resolve("yes"),
  answer: (_title, questions) =>
    Promise.resolve(
      questions.map(({ id, options }) => {
        const [first] = options;
        return first === undefined
          ? { questionId: id, optionIds: [], text: "Use your own judgement." }
          : { questionId: id, optionIds: [first.id], text: "" };
      }),
    ),
};

/** Nobody is there to ask. */
export const absentUser: User = {
  approve: () => Promise.resolve("no"),
  answer: () => Promise.resolve(undefined),
};

const ALLOWED: Verdict = { allowed: true };

/** Asks one thing at a time, and remembers what was allowed for the rest of the session. */
export class Consent {
  readonly #user: User;
  readonly #refusal: string;
  readonly #always = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  /** `refusal` is the reason that the model is given for a no. */
  constructor(user: User, refusal = "The user refused this.") {
    this.#user = user;
    this.#refusal = refusal;
  }

  approve(request: ApprovalRequest, signal: AbortSignal): Promise<Verdict> {
    return this.#inTurn(async () => {
      const key = alwaysKey(request);
      if (this.#always.has(key)) return ALLOWED;
      if (signal.aborted) return stopped();
      const answer = await this.#user.approve(request, signal);
      if (signal.aborted) return stopped();
      if (answer === "always") this.#always.add(key);
      return answer === "no" ? { allowed: false, reason: this.#refusal } : ALLOWED;
    });
  }

  answer(
    title: string,
    questions: readonly UserQuestion[],
    signal: AbortSignal,
  ): Promise<readonly UserAnswer[] | undefined> {
    return this.#inTurn(async () => (signal.aborted ? undefined : this.#user.answer(title, questions, signal)));
  }

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(ask, ask);
    this.#turn = next.catch(() => undefined);
    return next;
  }
}

function stopped(): Verdict {
  return { allowed: false, reason: "stopped before an answer" };
}

/**
 * What "always" covers: all writes, all deletions, one MCP tool, one kind of server action; of commands the same
 * program with other arguments, but only while the line is one plain command, else that very line.
 */
export function alwaysKey(request: ApprovalRequest): string {
  switch (request.kind) {
    case "write":
    case "delete":
      return request.kind;
    case "mcp":
      return JSON.stringify(["mcp", request.server, request.tool]);
    case "server":
      return JSON.stringify(["server", request.what]);
    case "command": {
      const program = /^\s*([\w./+-]+)(?=\s|$)[^;&|<>$`(){}\\\n\r]*$/.exec(request.command)?.[1];
      return JSON.stringify(program === undefined ? ["line", request.command] : ["program", program]);
    }
  }
}

/** What an "always" would cover, in words for the question; the empty string where only this very thing. */
export function alwaysCovers(request: ApprovalRequest): string {
  switch (request.kind) {
    case "write":
      return "all file changes";
    case "delete":
      return "all deletions";
    case "mcp":
      return `every call of ${request.tool}`;
    case "server":
      return `every ${request.what}`;
    case "command": {
      const [kind, name] = JSON.parse(alwaysKey(request)) as [string, string];
      return kind === "program" ? `every plain "${name} …"` : "this very line";
    }
  }
}
