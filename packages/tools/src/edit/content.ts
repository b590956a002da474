import { countLines } from "../text/lines.ts";
import type { agent } from "../wire.ts";

/** What stands in a file before an edit. */
export type Before =
  | { readonly kind: "absent" }
  | { readonly kind: "text"; readonly text: string }
  /** It is there, and its text is not known: binary, or not readable as a whole. */
  | { readonly kind: "opaque"; readonly why: string };

/** How an answer to the hidden read goes on. */
export type ReadForEdit =
  | { readonly kind: "before"; readonly before: Before }
  | { readonly kind: "denied" }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "unknown" };

export function readForEdit({ result }: agent.ReadResult): ReadForEdit {
  switch (result.case) {
    case "success":
      return { kind: "before", before: textOf(result.value) };
    case "fileNotFound":
      return { kind: "before", before: { kind: "absent" } };
    case "permissionDenied":
      return { kind: "denied" };
    case "rejected":
      return { kind: "rejected", reason: result.value.reason };
    case "error":
      return { kind: "before", before: { kind: "opaque", why: result.value.error || "it could not be read" } };
    case "invalidFile":
      return { kind: "before", before: { kind: "opaque", why: result.value.reason || "it is not a readable file" } };
    case undefined:
      return { kind: "unknown" };
  }
}

/** The whole text, or why it is not whole: writing a part back would cut the file. */
function textOf(success: agent.ReadSuccess): Before {
  const { output, truncated, totalLines, outputBlobId } = success;
  if (output.case === "data") return { kind: "opaque", why: "it is a binary file" };
  const text = output.case === "content" ? output.value : "";
  const partial = truncated || (output.case === undefined && outputBlobId !== undefined);
  // clients count the end of the last line as one more line, or do not
  return partial || countLines(text) + 1 < totalLines
    ? { kind: "opaque", why: "it is too large to be read as a whole" }
    : { kind: "text", text };
}
