import { create } from "@bufbuild/protobuf";
import { LsResultSchema } from "@chartroom/protocols/agent";
import { directoryTree } from "../workspace/tree.ts";
import { errorText, type ExecHandler } from "./exec.ts";

const LIMITS = { entries: 2000, depth: 6 };

/** `ls_args`: a bounded tree of names. */
export const ls: ExecHandler<"lsArgs"> = async ({ args }, { folder }) => {
  const { path } = args;
  const located = await folder.locate(path);
  if (!located.ok) {
    const rejected = { case: "rejected", value: { path, reason: located.reason } } as const;
    return { case: "lsResult", value: create(LsResultSchema, { result: rejected }) };
  }
  try {
    const [root, within] = located.inside ? [folder.root, located.relative] : [located.real, ""];
    const directoryTreeRoot = await directoryTree(root, within, args.ignore, LIMITS);
    const success = { case: "success", value: { directoryTreeRoot } } as const;
    return { case: "lsResult", value: create(LsResultSchema, { result: success }) };
  } catch (error) {
    const failed = { case: "error", value: { path, error: errorText(error) } } as const;
    return { case: "lsResult", value: create(LsResultSchema, { result: failed }) };
  }
};
