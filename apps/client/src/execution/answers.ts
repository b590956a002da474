import { create } from "@bufbuild/protobuf";
import {
  DiagnosticsResultSchema,
  ExecuteHookResultSchema,
  McpAllowlistPrecheckResultSchema,
  RequestContextResultSchema,
  ShellAllowlistPrecheckResultSchema,
  WebFetchAllowlistPrecheckResultSchema,
} from "@chartroom/protocols/agent";
import { type ExecHandler, errorText, type ResultInit } from "./exec.ts";

/** `diagnostics_args`: this client has no language server, so there are none. */
export const diagnostics: ExecHandler<"diagnosticsArgs"> = async ({ args }, { folder }) => {
  const { path } = args;
  const located = await folder.locate(path);
  const result: ResultInit<typeof DiagnosticsResultSchema> = located.ok
    ? { case: "success", value: { path } }
    : { case: "rejected", value: { path, reason: located.reason } };
  return { case: "diagnosticsResult", value: create(DiagnosticsResultSchema, { result }) };
};

/** `request_context_args`: the context as it is now. */
export const context: ExecHandler<"requestContextArgs"> = async (_call, ports) => {
  try {
    const success = { case: "success", value: { requestContext: await ports.context() } } as const;
    return { case: "requestContextResult", value: create(RequestContextResultSchema, { result: success }) };
  } catch (error) {
    const failed = { case: "error", value: { error: errorText(error) } } as const;
    return { case: "requestContextResult", value: create(RequestContextResultSchema, { result: failed }) };
  }
};

/** `execute_hook_args`: no hooks are set up, and an empty response of the right case objects to nothing (wire section 5.3). */
export const hook: ExecHandler<"executeHookArgs"> = ({ args }) => {
  const asked = args.request?.request.case;
  const response = asked === undefined ? {} : { response: { case: asked, value: {} } as const };
  return Promise.resolve({ case: "executeHookResult", value: create(ExecuteHookResultSchema, { response }) });
};

/** The prechecks: nothing is allowed without the question that comes with the action itself. */
export const shellPrecheck: ExecHandler<"shellAllowlistPrecheckArgs"> = () =>
  Promise.resolve({ case: "shellAllowlistPrecheckResult", value: create(ShellAllowlistPrecheckResultSchema) });

export const mcpPrecheck: ExecHandler<"mcpAllowlistPrecheckArgs"> = () =>
  Promise.resolve({ case: "mcpAllowlistPrecheckResult", value: create(McpAllowlistPrecheckResultSchema) });

export const webFetchPrecheck: ExecHandler<"webFetchAllowlistPrecheckArgs"> = () =>
  Promise.resolve({ case: "webFetchAllowlistPrecheckResult", value: create(WebFetchAllowlistPrecheckResultSchema) });
