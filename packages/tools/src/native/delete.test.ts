import { expect, it } from "vitest";
import { play } from "../../test/support.ts";

it.each([
  [{ case: "success", value: { path: "/f", deletedFile: "/f", prevContent: "abc" } }, "Deleted /f.", false],
  [{ case: "fileNotFound", value: {} }, "File not found: /f", true],
  [{ case: "notFile", value: { actualType: "directory" } }, "/f is not a file but a directory.", true],
  [{ case: "notFile", value: {} }, "/f is not a file.", true],
  [{ case: "permissionDenied", value: { clientVisibleError: "EPERM" } }, "Permission denied: /f: EPERM", true],
  [{ case: "fileBusy", value: {} }, "/f is in use and was not deleted.", true],
  [{ case: "rejected", value: { reason: "keep it" } }, "Deleting /f was rejected: keep it", true],
  [{ case: "error", value: { error: "EIO" } }, "Could not delete /f: EIO", true],
] as const)("Delete takes %j", (result, text, isError) => {
  const game = play("Delete", { path: "/f" });
  game.begin();
  expect(game.execs()[0]?.exec.message).toMatchObject({
    case: "deleteArgs",
    value: { path: "/f", toolCallId: "call_1" },
  });
  game.reply({ case: "deleteResult", value: { result } });
  expect(game.result()).toMatchObject({ text, isError });
  expect(game.completed().tool).toMatchObject({
    case: "deleteToolCall",
    value: { result: { result: { case: result.case } } },
  });
});

it("Delete takes an answer without a result as an error", () => {
  const game = play("Delete", { path: "/f" });
  game.begin();
  game.reply({ case: "deleteResult", value: {} });
  expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: "error" } } } });
});
