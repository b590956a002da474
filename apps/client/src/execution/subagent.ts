import { create } from "@bufbuild/protobuf";
import { SubagentResultSchema } from "@chartroom/protocols/agent";
import { errorText, type ExecHandler } from "./exec.ts";

/** `subagent_args`: a further run of this client, whose last words are the result (wire section 9). */
export const subagent: ExecHandler<"subagentArgs"> = async ({ args, signal }, { subagents }) => {
  try {
    const value = await subagents.run(args, signal);
    return { case: "subagentResult", value };
  } catch (error) {
    const failed = { case: "error", value: { error: errorText(error) } } as const;
    return { case: "subagentResult", value: create(SubagentResultSchema, { result: failed }) };
  }
};
