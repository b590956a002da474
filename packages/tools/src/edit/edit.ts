import {
  ask,
  done,
  unexpected,
  type Outcome,
  type Request,
  type Step,
  type ToolProgram,
} from "../execution/program.ts";
import { diffLines } from "../text/diff.ts";
import { because } from "../text/because.ts";
import { agent, create, type ExecAnswer, type ToolVariant } from "../wire.ts";
import { fileKey } from "../native/paths.ts";
import type { CallSite } from "../native/tool.ts";
import { readForEdit, type Before } from "./content.ts";

/** What an edit makes of a file. */
export type Planned =
  | { readonly ok: true; readonly after: string; readonly summary: (diff: EditCounts) => string }
  | { readonly ok: false; readonly result: "notFound" | "error"; readonly why: string };

export interface EditCounts {
  readonly added: number;
  readonly removed: number;
  readonly firstLine: number;
}

export interface Edit {
  readonly path: string;
  /** Text that the card shows streaming into the file. */
  readonly streamContent: string;
  plan(before: Before): Planned;
}

/** The one card of an edit, whatever is read and written for it (wire section 5.3). */
export function editVariant(
  args: { readonly path?: string | undefined; readonly streamContent?: string | undefined },
  result?: agent.EditResult,
): ToolVariant {
  const value = create(agent.EditToolCallSchema, {
    args: {
      ...(args.path !== undefined && { path: args.path }),
      ...(args.streamContent !== undefined && { streamContent: args.streamContent }),
    },
    ...(result !== undefined && { result }),
  });
  return { case: "editToolCall", value };
}

export function editError(path: string, error: string): agent.EditResult {
  const value = create(agent.EditErrorSchema, { path, error, modelVisibleError: error });
  return create(agent.EditResultSchema, { result: { case: "error", value } });
}

export function editTold(path: string, message: string): agent.EditResult {
  const value = create(agent.EditSuccessSchema, { path, message });
  return create(agent.EditResultSchema, { result: { case: "success", value } });
}

interface Writing {
  readonly before: Before;
  readonly after: string;
  readonly summary: (diff: EditCounts) => string;
}

/**
 * A hidden read, then a write of the whole file. The wire has no write that depends on what it replaces, so a change of
 * the file between the two is seen only where the read is done again: a write whose answer was lost with its stream is not
 * sent blindly once more, but the file is read first, and written only if it still is as it was.
 */
export function editProgram(edit: Edit, site: CallSite): ToolProgram {
  const { path } = edit;
  const card = editVariant(edit);
  let writing: Writing | undefined;

  const show = (text: string, result: agent.EditResult): Step =>
    done({ text, isError: result.result.case !== "success", tool: editVariant(edit, result) });
  const fail = (text: string): Step => show(text, editError(path, text));
  const read = (key: string): Request => ({
    key,
    args: { case: "readArgs", value: create(agent.ReadArgsSchema, { path, toolCallId: site.callId }) },
  });
  const write = (after: string): Step =>
    ask({
      key: "write",
      args: {
        case: "writeArgs",
        value: create(agent.WriteArgsSchema, {
          path,
          fileText: after,
          toolCallId: site.callId,
          returnFileContentAfterWrite: true,
        }),
      },
    });
  const succeeded = ({ before, after, summary }: Writing, written = after): Step => {
    const diff = diffLines(before.kind === "text" ? before.text : "", written);
    const note =
      written === after ? "" : " The client changed the text while saving it: read the file before you edit it again.";
    const value = create(agent.EditSuccessSchema, {
      path,
      linesAdded: diff.added,
      linesRemoved: diff.removed,
      diffString: diff.unified,
      afterFullFileContent: written,
      ...(before.kind === "text" && { beforeFullFileContent: before.text }),
      message: `${summary(diff)}${note}`,
    });
    return show(value.message ?? "", create(agent.EditResultSchema, { result: { case: "success", value } }));
  };

  /** The file is known: plan, and write. */
  const planned = (before: Before): Step => {
    const plan = edit.plan(before);
    if (!plan.ok)
      return plan.result === "error"
        ? fail(plan.why)
        : show(plan.why, create(agent.EditResultSchema, { result: { case: "fileNotFound", value: { path } } }));
    writing = { before, after: plan.after, summary: plan.summary };
    return write(plan.after);
  };

  /** The file is known again, after a write whose answer was lost. */
  const verified = (now: Before, pending: Writing): Step => {
    if (now.kind === "text" && now.text === pending.after) return succeeded(pending);
    const same =
      now.kind === pending.before.kind &&
      (now.kind !== "text" || pending.before.kind !== "text" || now.text === pending.before.text);
    return same
      ? write(pending.after)
      : fail(`${path} changed while this edit was under way, and was not written again. Read it before you edit it.`);
  };

  const afterRead = (answer: ExecAnswer, go: (before: Before) => Step): Step => {
    if (answer.case !== "readResult" && answer.case !== "redactedReadResult") return fail(unexpected(answer));
    const read = readForEdit(answer.value);
    switch (read.kind) {
      case "before":
        return go(read.before);
      case "denied":
        return show(
          `Permission denied: ${path}`,
          create(agent.EditResultSchema, { result: { case: "readPermissionDenied", value: { path } } }),
        );
      case "rejected":
        return rejected(read.reason);
      case "unknown":
        return fail(unexpected({ case: undefined }));
    }
  };

  const rejected = (reason: string): Step =>
    show(
      `Editing ${path} was rejected${because(reason)}`,
      create(agent.EditResultSchema, { result: { case: "rejected", value: { path, reason } } }),
    );

  const afterWrite = (answer: ExecAnswer, pending: Writing): Step => {
    if (answer.case !== "writeResult") return fail(unexpected(answer));
    const { result } = answer.value;
    switch (result.case) {
      case "success":
        // an empty text says nothing unless an empty file was written
        return succeeded(pending, result.value.fileContentAfterWrite || undefined);
      case "permissionDenied": {
        const { error, isReadonly } = result.value;
        return show(
          `Permission denied: ${path}${because(error)}`,
          create(agent.EditResultSchema, {
            result: { case: "writePermissionDenied", value: { path, error, isReadonly } },
          }),
        );
      }
      case "noSpace":
        return fail(`${path} was not written: no space left on the device.`);
      case "error":
        return fail(`Could not write ${path}${because(result.value.error)}`);
      case "rejected":
        return rejected(result.value.reason);
      case undefined:
        return fail(unexpected({ case: undefined }));
    }
  };

  return {
    card,
    exclusive: fileKey(path),
    start: () => ask(read("read")),
    answer(key, answer) {
      if (key === "read") return afterRead(answer, planned);
      const pending = writing;
      if (pending === undefined) return fail(unexpected(answer));
      return key === "write" ? afterWrite(answer, pending) : afterRead(answer, (now) => verified(now, pending));
    },
    failed: (_key, why) => fail(why),
    reissue: () => (writing === undefined ? [read("read")] : [read("verify")]),
    interrupted: (_reason, text): Outcome => ({ text, isError: true, tool: editVariant(edit, editError(path, text)) }),
  };
}
