import type { McpToolOffer, ModelRequest, RequestContext, RunRequest, ToolScope } from "@chartroom/domain";
import type { Projection } from "@chartroom/history";
import { systemPrompt, type SystemPromptInput } from "@chartroom/prompting";
import type { Activation } from "../activation/activation.ts";
import { ClientAccess } from "../streams/client-access.ts";
import type { CompiledRun, LiveRun } from "../activation/live-run.ts";

/** The Run's tools, model and system text; the same for equal inputs, byte for byte. `undefined`: the model is unknown. */
export function compileRun(
  activation: Activation,
  run: LiveRun,
  context: RequestContext | undefined,
): CompiledRun | undefined {
  const { models, tools } = activation.deps;
  const { request } = run;
  const found = models.resolve(request.model.modelId);
  if (!found) return undefined;
  const scope: ToolScope = {
    conversationId: activation.conversationId,
    runId: run.row.runId,
    mode: modeOf(request),
    offers: distinct([...request.mcpTools, ...(context?.tools ?? [])]),
    context,
  };
  const catalogue = tools.catalogue(scope);
  const custom = [
    ...(request.customSystemPrompt === undefined ? [] : [request.customSystemPrompt]),
    ...clientSystem(activation),
  ];
  return {
    scope,
    model: found.model,
    provider: found.provider,
    tools: catalogue,
    custom,
    system: systemText({ mode: scope.mode, toolNames: catalogue.map((tool) => tool.name), custom }),
  };
}

/** One string for all Runs of a mode and tool set: it is long, and most Runs have the same. */
function systemText(input: SystemPromptInput): string {
  const key = JSON.stringify(input);
  let text = systemTexts.get(key);
  if (text === undefined) {
    if (systemTexts.size >= 64) systemTexts.clear();
    systemTexts.set(key, (text = systemPrompt(input)));
  }
  return text;
}
const systemTexts = new Map<string, string>();

export function compiledOf(run: LiveRun): CompiledRun {
  if (!run.compiled) throw new Error("the Run is not compiled");
  return run.compiled;
}

/** System texts that the client brought as its own first messages. */
function clientSystem(activation: Activation): readonly string[] {
  return activation.history.view.messages.flatMap(({ role, content }) =>
    role === "system" && content.kind === "parts"
      ? content.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
}

export function modeOf(request: RunRequest): ToolScope["mode"] {
  const { action } = request;
  return action.kind === "userMessage" || action.kind === "executePlan" || action.kind === "startPlan"
    ? action.message.mode
    : "agent";
}

function distinct(offers: readonly McpToolOffer[]): readonly McpToolOffer[] {
  return [...new Map(offers.toReversed().map((offer) => [offer.name, offer])).values()].toReversed();
}

/** The head of the branch as a provider request, and what was healed on the way. */
export async function compileRequest(
  activation: Activation,
  run: LiveRun,
): Promise<{ readonly request: ModelRequest; readonly projection: Projection }> {
  const compiled = compiledOf(run);
  const projection = await activation.window.project(activation, compiled);
  const effort = effortOf(run.request);
  return {
    projection,
    request: {
      model: compiled.model,
      system: compiled.system,
      tools: compiled.tools,
      messages: projection.messages,
      maxOutputTokens: compiled.model.maxOutputTokens,
      cacheKey: activation.conversationId,
      ...(effort ? { effort } : {}),
    },
  };
}

const efforts = ["minimal", "low", "medium", "high"] as const;

/** Newer clients name the effort by one of several parameter ids (wire section 13). */
function effortOf(request: RunRequest): ModelRequest["effort"] {
  const { parameters } = request.model;
  for (const name of ["reasoning_effort", "thinking_effort", "effort", "reasoning"]) {
    const effort = efforts.find((known) => known === parameters[name]);
    if (effort) return effort;
  }
  return undefined;
}

/** Compiles a Run that came back from the store: a claim's fresh context goes before the request's own. `false`: its model is gone. */
export async function ensureCompiled(activation: Activation, run: LiveRun, signal: AbortSignal): Promise<boolean> {
  if (run.compiled) return true;
  await activation.loadHistory();
  const context = await contextOf(run, new ClientAccess(activation, run, signal));
  run.compiled = compileRun(activation, run, context);
  return run.compiled !== undefined;
}

/** The context that came with the request, or is known without asking. */
export function broughtContext({ request: { action }, knownContext }: LiveRun): RequestContext | undefined {
  return ("context" in action ? action.context : undefined) ?? knownContext;
}

/** A claim's context, the request's own, or what the client answers when it is asked; nothing when it cannot say. */
export async function contextOf(run: LiveRun, client: ClientAccess): Promise<RequestContext | undefined> {
  const { action, mcpTools } = run.request;
  const brought = broughtContext(run);
  if (brought || mcpTools.length > 0) return brought;
  return action.kind === "userMessage" || action.kind === "resume" ? client.context() : undefined;
}
