import type { JsonObject, ToolCard } from "@chartroom/domain";
import type { CallSite, ToolSpec } from "../native/tool.ts";
import { agent, create } from "../wire.ts";
import { completedFrame, deltaFrame, partialFrame, toolCall, type CallIdentity } from "./frames.ts";
import { pieces } from "./pieces.ts";
import { streamedFields, type StreamedPiece } from "./streamed-fields.ts";

/** A snapshot follows the last one when so much more text is there: all snapshots together stay within a few times the text. */
const growth = (length: number): number => length + Math.max(16, length >> 2);

/** The card of a call while its arguments stream (wire section 4.8). */
export function createCard(spec: ToolSpec, site: CallSite, identity: CallIdentity): ToolCard {
  const { streamed } = spec;
  const partial = (args: JsonObject, text = "") => partialFrame(identity, spec.card(site, args), text);
  const edited = (delta: string) => {
    const value = create(agent.EditToolCallDeltaSchema, { streamContentDelta: delta });
    return deltaFrame(identity, { case: "editToolCallDelta", value });
  };
  return {
    opened: () => [partial({})],
    argumentsGrew: streamed === undefined ? snapshots((text) => partial({}, text)) : edits(streamed, partial, edited),
    abandoned(reason) {
      const tool = spec.cards(site, {}).failed(reason);
      return [completedFrame(identity, toolCall(tool, identity.callId))];
    },
  };
}

/** A call that nobody can carry out shows nothing while it streams: it may never get a bubble. */
export const NO_CARD: ToolCard = { opened: () => [], argumentsGrew: () => [], abandoned: () => [] };

/** All argument text so far, whenever it has grown enough and when it is complete. */
function snapshots(frame: (text: string) => Uint8Array): ToolCard["argumentsGrew"] {
  const reader = streamedFields([]);
  let next = 1;
  let done = false;
  return (soFar, delta) => {
    reader.feed(delta);
    if (done || (soFar.length < next && !reader.closed)) return [];
    done = reader.closed;
    next = growth(soFar.length);
    return [frame(soFar.toWellFormed())];
  };
}

/** For an edit: its path as soon as it is complete, and the text that streams into the file, with plain line ends. */
function edits(
  streamed: string,
  partial: (args: JsonObject) => Uint8Array,
  edited: (delta: string) => Uint8Array,
): ToolCard["argumentsGrew"] {
  const reader = streamedFields(["path", streamed]);
  let path = "";
  let carriage = false;

  const content = ({ text, complete }: StreamedPiece): Uint8Array[] => {
    const joined = `${carriage ? "\r" : ""}${text}`;
    carriage = !complete && joined.endsWith("\r");
    const ready = (carriage ? joined.slice(0, -1) : joined).replaceAll("\r\n", "\n");
    return pieces(ready).map(edited);
  };

  return (_soFar, delta) =>
    reader.feed(delta).flatMap((piece) => {
      if (piece.name === streamed) return content(piece);
      path += piece.text;
      return piece.complete ? [partial({ path })] : [];
    });
}
