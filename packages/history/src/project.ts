import { toBase64 } from "@chartroom/protocol";
import type {
  AssistantRecord,
  BlobId,
  CanonicalMessage,
  ContentPart,
  HistoryId,
  ImagePart,
  ModelBlock,
  ModelMessage,
  ModelPart,
  ModelToolCall,
  ModelToolResult,
  ToolResultRecord,
} from "@chartroom/domain";
import { cutText } from "./cut.ts";
import { createCallIds, safeArguments, safeToolName } from "./heal.ts";
import { knownShared, newLine, place } from "./lines.ts";
import type { Problem, ProblemKind } from "./problem.ts";

/** What a projection depends on, beside the messages. */
export interface ProjectOptions {
  /** Replay state goes back to the vendor that made it and to no other. */
  readonly vendor: string;
  readonly supportsImages: boolean;
  /** Bytes of a stored picture. The same id must always give the same answer. */
  readonly image: (id: BlobId) => Uint8Array | undefined;
  /** The vendor refuses an assistant message without reasoning. */
  readonly requireThinking?: boolean;
}

export interface Projection {
  readonly messages: readonly ModelMessage[];
  /** For each message, the canonical message that it begins with. */
  readonly sources: readonly HistoryId[];
  /** System texts that a client brought as its own first messages; for the compiled system text. */
  readonly clientSystem: readonly string[];
  /** What was healed on the way. */
  readonly problems: readonly Problem[];
}

const NO_RESULT = "No result of this call was recorded.";
const NO_OUTPUT = "(no output)";
const NO_TEXT = "(empty message)";
const BEGIN = "(the conversation begins here)";
const STOPPED = "(interrupted)";

/** Canonical history → provider request. The same messages give the same bytes; more messages only append to them. */
export function project(messages: readonly CanonicalMessage[], options: ProjectOptions): Projection {
  const building = startProjection(options);
  for (const message of messages) building.add(message);
  return building.result();
}

/**
 * A projection that keeps its work: given a longer history than last time it adds what is new, given another one it starts
 * over. Gives what `project` gives.
 */
export function createProjector(options: ProjectOptions): (messages: readonly CanonicalMessage[]) => Projection {
  let done: readonly CanonicalMessage[] = [];
  let building = startProjection(options);
  return (messages) => {
    const known = beginsWith(messages, done) ? done.length : 0;
    if (known < done.length) building = startProjection(options);
    for (let at = known; at < messages.length; at += 1) building.add(messages[at]!);
    done = messages;
    return building.result();
  };
}

/** By identity: a stored message is one object for as long as the branch is in memory. */
function beginsWith(messages: readonly CanonicalMessage[], beginning: readonly CanonicalMessage[]): boolean {
  if (beginning.length > messages.length) return false;
  for (let at = knownShared(messages, beginning); at < beginning.length; at += 1)
    if (messages[at] !== beginning[at]) return false;
  return true;
}

interface Building {
  add(message: CanonicalMessage): void;
  result(): Projection;
}

function startProjection(options: ProjectOptions): Building {
  const out: ModelMessage[] = [];
  const line = newLine();
  const sources: HistoryId[] = [];
  const problems: Problem[] = [];
  const clientSystem: string[] = [];
  const ids = createCallIds();
  /** Calls of the newest round: canonical id → the ids under which they were sent, oldest first. */
  let open = new Map<string, readonly SentCall[]>();
  let answered = new Set<string>();
  let round: { readonly source: HistoryId; results: readonly ModelToolResult[] } | undefined;
  let roundOwner: HistoryId | undefined;
  /** Results without a call, held back until the round is closed, so that they do not part its results. */
  let orphans: { readonly source: HistoryId; readonly message: ModelMessage }[] = [];

  const report = (kind: ProblemKind, message: HistoryId, call?: string) =>
    problems.push(call === undefined ? { kind, message } : { kind, message, call });
  const emit = (message: ModelMessage, source: HistoryId) => {
    if (out.length === 0 && message.role !== "user") {
      report("no-first-user", source);
      out.push({ role: "user", parts: [{ type: "text", text: BEGIN }] });
      sources.push(source);
    }
    out.push(message);
    sources.push(source);
  };
  const settle = (result: ModelToolResult, source: HistoryId) => {
    if (round === undefined) {
      round = { source, results: [result] };
      emit({ role: "tool", results: round.results }, source);
    } else {
      round.results = [...round.results, result];
      out[out.length - 1] = { role: "tool", results: round.results };
    }
  };
  const unanswered = () => [...open.values()].flat();
  const closeRound = () => {
    if (roundOwner !== undefined) {
      for (const call of unanswered()) {
        report("missing-result", roundOwner, call.sent);
        settle(noResult(call), roundOwner);
      }
    }
    for (const orphan of orphans) emit(orphan.message, orphan.source);
    open = new Map();
    answered = new Set();
    round = undefined;
    roundOwner = undefined;
    orphans = [];
  };

  const text = (raw: string, id: HistoryId): string => {
    if (raw.isWellFormed()) return raw;
    report("broken-text", id);
    return raw.toWellFormed();
  };
  const picture = (image: ImagePart, id: HistoryId): { mimeType: string; base64: string } | string => {
    const label = image.name === undefined ? image.mimeType : `${image.name}, ${image.mimeType}`;
    if (!options.supportsImages) return `[A picture (${label}) is here; this model does not take pictures.]`;
    const data = options.image(image.blob);
    if (data !== undefined) return { mimeType: image.mimeType, base64: toBase64(data) };
    report("missing-image", id);
    return `[A picture (${label}) was here; it is not stored any more.]`;
  };

  const userParts = (parts: readonly ContentPart[], id: HistoryId): readonly ModelPart[] => {
    const made = parts.flatMap((part): readonly ModelPart[] => {
      if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: text(part.text, id) }];
      const shown = picture(part, id);
      return [typeof shown === "string" ? { type: "text", text: shown } : { type: "image", ...shown }];
    });
    return made.length === 0 ? [{ type: "text", text: NO_TEXT }] : made;
  };

  const addParts = (message: CanonicalMessage, parts: readonly ContentPart[]) => {
    closeRound();
    if (message.role === "system") {
      const said = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
      if (out.length === 0) {
        clientSystem.push(text(said, message.id));
        return;
      }
      report("late-system", message.id);
    }
    emit({ role: "user", parts: userParts(parts, message.id) }, message.id);
  };

  const addAssistant = (id: HistoryId, record: AssistantRecord) => {
    closeRound();
    roundOwner = id;
    const blocks: ModelBlock[] = [];
    for (const block of record.blocks) {
      if (block.type === "text") {
        if (block.text.trim() !== "") blocks.push({ type: "text", text: text(block.text, id) });
        continue;
      }
      const replay = block.replay?.vendor === options.vendor ? block.replay : undefined;
      if (replay !== undefined) blocks.push({ type: "thinking", text: block.text, replay });
      else if (block.text.trim() !== "") blocks.push({ type: "thinking", text: text(block.text, id) });
    }
    const calls = record.calls
      .toSorted((a, b) => a.index - b.index)
      .map((call): ModelToolCall => {
        const { sent, problem } = ids.take(call.id);
        if (problem !== undefined) report(problem, id, call.id);
        const name = safeToolName(call.name);
        if (name !== call.name) report("unsafe-tool-name", id, call.id);
        const args = safeArguments(call.arguments);
        if (args.healed) report("invalid-arguments", id, call.id);
        open.set(call.id, [...(open.get(call.id) ?? []), { sent, name }]);
        return { id: sent, name, arguments: args.text };
      });
    if (blocks.length === 0 && calls.length === 0) {
      report("empty-message", id);
      return;
    }
    // another vendor's reasoning goes as words, which is none
    if (options.requireThinking === true && !blocks.some((block) => block.type === "thinking" && block.replay)) {
      report("missing-thinking", id);
      blocks.unshift({ type: "thinking", text: "" });
    }
    if (calls.length === 0 && !blocks.some((block) => block.type === "text")) {
      report("thinking-only", id);
      blocks.push({ type: "text", text: STOPPED });
    }
    emit({ role: "assistant", blocks, calls }, id);
  };

  const resultOf = (result: ToolResultRecord, callId: string, toolName: string, id: HistoryId): ModelToolResult => {
    const said = text(result.text, id);
    const shown = result.image === undefined ? undefined : picture(result.image, id);
    const note = typeof shown === "string" ? `${said === "" ? "" : `${said}\n`}${shown}` : said;
    return {
      callId,
      toolName,
      text: note.trim() === "" ? NO_OUTPUT : cutText(note),
      isError: result.isError,
      ...(shown === undefined || typeof shown === "string" ? {} : { image: shown }),
    };
  };

  const addResult = (id: HistoryId, result: ToolResultRecord) => {
    const [call, ...rest] = open.get(result.callId) ?? [];
    if (call !== undefined) {
      if (rest.length === 0) open.delete(result.callId);
      else open.set(result.callId, rest);
      answered.add(result.callId);
      settle(resultOf(result, call.sent, call.name, id), id);
      return;
    }
    if (answered.has(result.callId)) {
      report("duplicate-result", id, result.callId);
      return;
    }
    report("orphan-result", id, result.callId);
    const said = resultOf(result, "", "", id);
    const parts: ModelPart[] = [
      { type: "text", text: `Result of an earlier call of ${result.toolName}:\n${said.text}` },
    ];
    if (said.image !== undefined) parts.push({ type: "image", ...said.image });
    orphans.push({ source: id, message: { role: "user", parts } });
  };

  return {
    add(message) {
      const { content } = message;
      if (content.kind === "parts") addParts(message, content.parts);
      else if (content.kind === "assistant") addAssistant(message.id, content.record);
      else addResult(message.id, content.result);
    },
    result() {
      const messages = out.slice();
      const own = sources.length;
      const more: HistoryId[] = [];
      const found = problems.slice();
      const missing = unanswered();
      // the results of an open round come into one message
      const fixed = round === undefined ? out.length : out.length - 1;
      if (roundOwner !== undefined && missing.length > 0) {
        const results = [...(round?.results ?? []), ...missing.map(noResult)];
        for (const call of missing) found.push({ kind: "missing-result", message: roundOwner, call: call.sent });
        if (round === undefined) more.push(roundOwner);
        else messages.pop();
        messages.push({ role: "tool", results });
      }
      for (const orphan of orphans) {
        messages.push(orphan.message);
        more.push(orphan.source);
      }
      place(messages, line, fixed);
      return {
        messages,
        // only what broke a prefix is looked up in it
        get sources() {
          return sources.slice(0, own).concat(more);
        },
        problems: found,
        clientSystem: clientSystem.slice(),
      };
    },
  };
}

interface SentCall {
  readonly sent: string;
  readonly name: string;
}

function noResult(call: SentCall): ModelToolResult {
  return { callId: call.sent, toolName: call.name, text: NO_RESULT, isError: true };
}

/** Pictures that the messages show, each once: what `ProjectOptions.image` and `EncodeInput.blob` will be asked for. */
export function imagesOf(messages: readonly CanonicalMessage[]): readonly BlobId[] {
  const found = new Set<BlobId>();
  for (const { content } of messages) {
    if (content.kind === "parts") {
      for (const part of content.parts) if (part.type === "image") found.add(part.blob);
    } else if (content.kind === "toolResult" && content.result.image !== undefined) {
      found.add(content.result.image.blob);
    }
  }
  return [...found];
}
