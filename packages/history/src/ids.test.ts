import type { BackgroundCompletion, BlobId, EventId, UserMessage } from "@chartroom/domain";
import { expect, test } from "vitest";
import {
  assistantId,
  completionId,
  eventId,
  importedFrom,
  importedId,
  inputDigest,
  inputOfEvent,
  spaceOf,
  toolCallId,
  userMessageId,
} from "./ids.ts";
import { runOf, userMessage } from "./samples.ts";

const message = userMessage("hello", "m1");

test("the digest covers text, attachments and mode, and nothing else", () => {
  const digest = inputDigest(message);
  const same: Partial<UserMessage> = { messageId: "m2" as never, simulated: true, wire: new Uint8Array([1]) };
  expect(inputDigest({ ...message, ...same })).toBe(digest);
  const file = { type: "file", path: "a", content: "x" } as const;
  const others: readonly Partial<UserMessage>[] = [
    { text: "hello " },
    { mode: "ask" },
    { attachments: [file] },
    { attachments: [{ ...file, content: "y" }] },
    { attachments: [{ type: "note", label: "a", content: "x" }] },
    { attachments: [{ type: "selection", path: "a", content: "x", startLine: 1, endLine: 2 }] },
    { attachments: [{ type: "image", blob: "aa" as BlobId, mimeType: "image/png" }] },
    { textBlob: "aa" as BlobId },
  ];
  const digests = others.map((other) => inputDigest({ ...message, ...other }));
  expect(new Set([digest, ...digests]).size).toBe(others.length + 1);
  const image = { type: "image", blob: "aa" as BlobId, mimeType: "image/png" } as const;
  expect(inputDigest({ ...message, attachments: [image] })).toBe(
    inputDigest({ ...message, attachments: [{ ...image, data: new Uint8Array([1]) }] }),
  );
});

test.each(["m1", "with.dots.1", "with:colon", "line\nbreak", "0.0"])(
  "the input id comes back out of an event: %j",
  (id) => {
    const event = eventId(id, inputDigest(message));
    expect(inputOfEvent(event)).toBe(id);
    expect(inputOfEvent(eventId(id, inputDigest(message), 3))).toBe(id);
    expect(spaceOf(userMessageId(event))).toEqual({ space: "user-message", rest: event });
  },
);

test("what is no event of an input has no input id", () => {
  expect(inputOfEvent("compaction:run-1")).toBeUndefined();
  expect(spaceOf("no space")).toBeUndefined();
  expect(spaceOf("unknown:rest")).toBeUndefined();
});

test("call ids are unique by Run, step and index, and of a form that every provider takes", () => {
  const ids = [
    toolCallId(runOf("a"), 1, 0),
    toolCallId(runOf("a"), 1, 1),
    toolCallId(runOf("a"), 2, 0),
    toolCallId(runOf("b"), 1, 0),
    toolCallId(runOf("a1"), 1, 0),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_]{1,40}$/u);
});

test("a pass that was cut off is another message than the pass that follows it", () => {
  const run = runOf("r");
  expect(new Set([assistantId(run, 1), assistantId(run, 1, "half"), assistantId(run, 1, "other half")]).size).toBe(3);
});

test("imported ids give back blob and part", () => {
  const blob = "ab".repeat(32) as BlobId;
  expect(importedFrom(importedId(7, blob))).toEqual({ blob, part: 0 });
  expect(importedFrom(importedId(7, blob, 2))).toEqual({ blob, part: 2 });
  expect(importedFrom(userMessageId("e" as EventId))).toBeUndefined();
});

test("one completion has one id; two reports of progress have two", () => {
  const done: BackgroundCompletion = { taskKind: "subagent", status: "completed", taskId: "t", title: "", detail: "x" };
  expect(completionId({ ...done, detail: "said otherwise" })).toBe(completionId(done));
  expect(completionId({ ...done, subagentId: "s" })).toBe("background-completed:subagent:s:");
  const progress: BackgroundCompletion = { ...done, status: "progress" };
  expect(completionId(progress)).not.toBe(completionId({ ...progress, detail: "y" }));
});
