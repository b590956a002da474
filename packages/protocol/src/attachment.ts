import type { Attachment } from "@chartroom/domain";
import type { Range } from "@chartroom/protocols/agent/v1/common";
import type { SelectedContext, SelectedImage } from "@chartroom/protocols/agent/v1/selected_context";
import { blobId, blobIdOf } from "./blob.ts";
import { attachmentNotes } from "./attachment-notes.ts";

/** What the user attached to a message (wire section 4.6), in a fixed order: images, files, selections, then the rest as notes. */
export function attachments(selected: SelectedContext | undefined): readonly Attachment[] {
  if (selected === undefined) return [];
  return [
    ...selected.selectedImages.flatMap(image),
    ...selected.files.map(({ path, content }): Attachment => ({ type: "file", path, content })),
    ...selected.codeSelections.map(({ path, content, range }): Attachment => ({
      type: "selection",
      path,
      content,
      ...lines(range),
    })),
    ...attachmentNotes(selected).map(([label, content]): Attachment => ({ type: "note", label, content })),
  ];
}

/** An image by its bytes or its blob id; one that lies with the vendor only (an upload reference) is left out. */
function image(wire: SelectedImage): readonly Attachment[] {
  const source = wire.dataOrBlobId;
  const name = wire.path === "" ? {} : { name: wire.path };
  const mimeType = wire.mimeType === "" ? "image/png" : wire.mimeType;
  switch (source.case) {
    case "data":
      return inline(source.value);
    case "blobIdWithData":
      return source.value.data.byteLength > 0 ? inline(source.value.data) : byId(source.value.blobId);
    case "blobId":
      return byId(source.value);
    default:
      return [];
  }

  function inline(data: Uint8Array): readonly Attachment[] {
    return data.byteLength === 0 ? [] : [{ type: "image", blob: blobId(data), data, mimeType, ...name }];
  }
  /** A client that keeps no blobs puts the content where the id belongs (wire section 8.1). */
  function byId(id: Uint8Array): readonly Attachment[] {
    const blob = blobIdOf(id);
    return blob === undefined ? inline(id) : [{ type: "image", blob, mimeType, ...name }];
  }
}

function lines(range: Range | undefined): { readonly startLine: number; readonly endLine: number } {
  const startLine = range?.start?.line ?? 0;
  return { startLine, endLine: range?.end?.line ?? startLine };
}
