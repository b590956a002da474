import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type InteractionQuery, type InteractionResponse, InteractionResponseSchema } from "@chartroom/protocols/agent";
import type { Consent, UserQuestion } from "./consent.ts";
import type { Send } from "./executions.ts";

export interface QueryNotice {
  /** The case of the query without its ending: `webSearch`, `askQuestion`, … */
  readonly kind: string;
  readonly outcome: string;
  /** The mode that the user agreed to go to. */
  readonly mode?: string;
  /** The plan that was made. */
  readonly text?: string;
}

export interface QueryPorts {
  readonly consent: Consent;
  /** Keeps a plan; gives its address. */
  savePlan(name: string, text: string): Promise<string>;
  answered(notice: QueryNotice): void;
}

type Query = Exclude<InteractionQuery["query"], { case: undefined }>;
type ResultInit = NonNullable<
  Extract<MessageInitShape<typeof InteractionResponseSchema>, { result?: unknown }>["result"]
>;

interface Entry {
  readonly toolCallId: string;
  readonly controller: AbortController;
  readonly answer: Promise<ResultInit | undefined>;
  stream: number;
}

const NOT_HERE = "this client does not do that";

/**
 * The questions of the server to the user (wire section 6). Each is answered, because an open one stops the run; one
 * that is asked again after a reconnect is still the same question.
 */
export class Queries {
  readonly #ports: QueryPorts;
  readonly #entries = new Map<string, Entry>();
  #stream = 0;
  #send: Send | undefined;

  constructor(ports: QueryPorts) {
    this.#ports = ports;
  }

  attach(send: Send): void {
    this.#stream += 1;
    this.#send = send;
  }

  detach(): void {
    this.#send = undefined;
  }

  ask({ id, query }: InteractionQuery): void {
    const toolCallId = toolCallIdOf(query);
    const base = `${query.case ?? ""}\0${toolCallId}`;
    const earlier = toolCallId === "" ? undefined : this.#entries.get(base);
    if (earlier !== undefined && earlier.stream < this.#stream) {
      earlier.stream = this.#stream;
      void this.#respond(id, earlier);
      return;
    }
    const controller = new AbortController();
    const answer = this.#answer(query, controller.signal).catch(() => undefined);
    const entry: Entry = { toolCallId, controller, answer, stream: this.#stream };
    this.#entries.set(earlier === undefined && toolCallId !== "" ? base : `${base}\0${this.#stream}.${id}`, entry);
    void this.#respond(id, entry);
  }

  /** The call is over; a question that is still open for it is void. */
  settled(toolCallId: string): void {
    for (const [key, entry] of this.#entries) {
      if (entry.toolCallId !== toolCallId) continue;
      entry.controller.abort();
      this.#entries.delete(key);
    }
  }

  abortAll(): void {
    for (const { controller } of this.#entries.values()) controller.abort();
  }

  async #respond(id: number, entry: Entry): Promise<void> {
    const stream = this.#stream;
    const result = await entry.answer;
    if (stream !== this.#stream) return;
    const value: InteractionResponse = create(InteractionResponseSchema, {
      id,
      ...(result === undefined ? {} : { result }),
    });
    this.#send?.({ case: "interactionResponse", value });
  }

  async #answer(query: InteractionQuery["query"], signal: AbortSignal): Promise<ResultInit | undefined> {
    const kind = (query.case ?? "unknown").replace(/(Request|Interaction)?(Query|Args)$/, "");
    const answered = (outcome: string, rest: Partial<QueryNotice> = {}) =>
      this.#ports.answered({ kind, outcome, ...rest });
    switch (query.case) {
      case "askQuestionInteractionQuery":
        return this.#askQuestion(query.value, signal, answered);
      case "createPlanRequestQuery":
        return this.#createPlan(query.value, answered);
      case "webSearchRequestQuery":
      case "webFetchRequestQuery":
      case "generateImageRequestQuery":
      case "switchModeRequestQuery":
        return this.#approve(query, signal, answered);
      case undefined:
        answered("unknown");
        return undefined;
      default:
        answered("rejected");
        return refusal(query);
    }
  }

  async #approve(
    query: Extract<Query, { case: keyof typeof APPROVALS }>,
    signal: AbortSignal,
    answered: (outcome: string, rest?: Partial<QueryNotice>) => void,
  ): Promise<ResultInit> {
    const { what, response } = APPROVALS[query.case];
    const detail = detailOf(query);
    const verdict = await this.#ports.consent.approve({ kind: "server", what, detail }, signal);
    if (!verdict.allowed) {
      answered("rejected");
      return { case: response, value: { result: { case: "rejected", value: { reason: verdict.reason } } } };
    }
    const mode = query.case === "switchModeRequestQuery" ? query.value.args?.targetModeId : undefined;
    answered("approved", mode === undefined ? {} : { mode });
    if (response === "generateImageRequestResponse") {
      return { case: response, value: { result: { case: "approved", value: { description: detail } } } };
    }
    return { case: response, value: { result: { case: "approved", value: {} } } };
  }

  async #askQuestion(
    query: Extract<Query, { case: "askQuestionInteractionQuery" }>["value"],
    signal: AbortSignal,
    answered: (outcome: string) => void,
  ): Promise<ResultInit> {
    const questions = (query.args?.questions ?? []).map(({ id, prompt, options, allowMultiple }): UserQuestion => ({
      id,
      prompt,
      options: options.map((option) => ({ id: option.id, label: option.label })),
      allowMultiple,
    }));
    const answers = await this.#ports.consent.answer(query.args?.title ?? "", questions, signal);
    answered(answers === undefined ? "rejected" : "success");
    const result =
      answers === undefined
        ? ({ case: "rejected", value: { reason: "The user did not answer." } } as const)
        : ({
            case: "success",
            value: {
              answers: answers.map(({ questionId, optionIds, text }) => ({
                questionId,
                selectedOptionIds: [...optionIds],
                freeformText: text,
              })),
            },
          } as const);
    return { case: "askQuestionInteractionResponse", value: { result: { result } } };
  }

  async #createPlan(
    query: Extract<Query, { case: "createPlanRequestQuery" }>["value"],
    answered: (outcome: string, rest?: Partial<QueryNotice>) => void,
  ): Promise<ResultInit> {
    const text = query.args?.plan ?? "";
    try {
      const planUri = await this.#ports.savePlan(query.args?.name ?? "", text);
      answered("success", { text });
      return {
        case: "createPlanRequestResponse",
        value: { result: { result: { case: "success", value: {} }, planUri } },
      };
    } catch {
      answered("error");
      const error = { case: "error", value: { error: "the plan could not be stored" } } as const;
      return { case: "createPlanRequestResponse", value: { result: { result: error } } };
    }
  }
}

/** Queries that a yes or a no answers, and what they are called in the question. */
const APPROVALS = {
  webSearchRequestQuery: { what: "web search", response: "webSearchRequestResponse" },
  webFetchRequestQuery: { what: "web fetch", response: "webFetchRequestResponse" },
  generateImageRequestQuery: { what: "image generation", response: "generateImageRequestResponse" },
  switchModeRequestQuery: { what: "mode switch", response: "switchModeRequestResponse" },
} as const;

function detailOf(query: Extract<Query, { case: keyof typeof APPROVALS }>): string {
  switch (query.case) {
    case "webSearchRequestQuery":
      return query.value.args?.searchTerm ?? "";
    case "webFetchRequestQuery":
      return query.value.args?.url ?? "";
    case "generateImageRequestQuery":
      return query.value.args?.description ?? "";
    case "switchModeRequestQuery": {
      const { targetModeId = "", explanation = "" } = query.value.args ?? {};
      return explanation === "" ? targetModeId : `${targetModeId}: ${explanation}`;
    }
  }
}

/** The typed no to what this client has no part in; undefined where the wire knows none. */
function refusal(query: Query): ResultInit | undefined {
  const rejected = { case: "rejected", value: { reason: NOT_HERE } } as const;
  switch (query.case) {
    case "mcpAuthRequestQuery":
      return { case: "mcpAuthRequestResponse", value: { result: rejected } };
    case "prManagementRequestQuery":
      return { case: "prManagementResult", value: { result: rejected } };
    case "connectScmRequestQuery":
      return { case: "connectScmRequestResponse", value: { result: rejected } };
    case "replaceEnvArgs":
      return { case: "replaceEnvResult", value: { result: { case: "failure", value: { errorMessage: NOT_HERE } } } };
    default:
      return undefined;
  }
}

function toolCallIdOf(query: InteractionQuery["query"]): string {
  const value = query.value as
    | { readonly toolCallId?: unknown; readonly args?: { readonly toolCallId?: unknown } }
    | undefined;
  const own = value?.toolCallId ?? value?.args?.toolCallId;
  return typeof own === "string" ? own : "";
}
