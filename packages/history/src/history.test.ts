import { blobId } from "@chartroom/protocol";
import type { Blob, BlobId } from "@chartroom/domain";
import { expect, test } from "vitest";
import {
  appendResults,
  appendStep,
  decodeCheckpoint,
  encodeCheckpoint,
  project,
  readState,
  relate,
  EMPTY_VIEW,
} from "./index.ts";
import { call, Conversation, parts, record, result, runOf, said, section, userMessage } from "./samples.ts";

const options = { vendor: "anthropic", supportsImages: true, image: () => undefined };

test("one turn with two calls: opened, stepped, answered, encoded, decoded on an empty server", () => {
  const chat = new Conversation();
  const run = runOf("run-1");
  const message = userMessage("What is in a and b?", "m1");
  chat.open({
    runId: run,
    input: { message, parts: parts(message.text) },
    context: [section("environment", "linux")],
    runtime: "<turn>\nTime: 12:00\n</turn>",
  });
  expect(chat.view.messages.map((row) => row.id.split(":")[0])).toEqual(["request-context", "runtime", "user-message"]);

  const calls = [call(run, 1, 0, "Read", '{"path": "a"}'), call(run, 1, 1, "Read", '{"path":"b"}')];
  const thinking = {
    type: "thinking",
    text: "hm",
    replay: { vendor: "anthropic", data: '{"signature":"xyz"}' },
  } as const;
  chat.commit(appendStep(chat.place(run), record(run, 1, [thinking, said("I look.")], calls)));

  const blobs = new Map<BlobId, Uint8Array>();
  const keep = (made: readonly Blob[]) => {
    for (const blob of made) blobs.set(blob.id, blob.data);
  };
  const lookup = (id: BlobId) => blobs.get(id);
  const pending = encodeCheckpoint({ system: "sys", view: chat.view, blob: lookup, mode: "agent" });
  if (!pending.ok) throw new Error(pending.kind);
  keep(pending.blobs);
  const outline = readState(pending.state);
  if (!outline.ok) throw new Error("malformed");
  expect(outline.outline.roots).toHaveLength(4);
  expect(outline.outline.pending).toHaveLength(1);

  chat.commit(appendResults(chat.place(run), [result(calls[1]!, "B"), result(calls[0]!, "A")]));
  chat.commit(appendStep(chat.place(run), record(run, 2, [said("Done.")])));
  const final = encodeCheckpoint({
    system: "sys",
    view: chat.view,
    blob: lookup,
    mode: "agent",
    previous: pending.state,
  });
  if (!final.ok) throw new Error(final.kind);
  keep(final.blobs);
  chat.deliver(final.state);

  const read = decodeCheckpoint(final.state, lookup);
  if (!read.ok) throw new Error(read.kind);
  const here = project(chat.view.messages, options);
  const there = project(read.value.messages, options);
  expect(JSON.stringify(there.messages)).toBe(JSON.stringify(here.messages));
  expect(here.problems).toEqual([]);

  const again = encodeCheckpoint({
    system: "sys",
    view: { ...EMPTY_VIEW, messages: read.value.messages },
    blob: lookup,
    mode: "agent",
    previous: final.state,
  });
  if (!again.ok) throw new Error(again.kind);
  expect(blobId(again.state)).toBe(blobId(final.state));
  const fromNothing = encodeCheckpoint({
    system: "sys",
    view: { ...EMPTY_VIEW, messages: read.value.messages },
    blob: lookup,
    mode: "agent",
  });
  if (!fromNothing.ok) throw new Error(fromNothing.kind);
  const roots = readState(fromNothing.state);
  const mine = readState(final.state);
  if (!roots.ok || !mine.ok) throw new Error("malformed");
  expect(roots.outline.roots).toEqual(mine.outline.roots);

  expect(relate(mine.outline, chat.chain, chat.view.head)).toEqual({
    kind: "continue",
    base: chat.view.head,
    shrunk: false,
  });
});
