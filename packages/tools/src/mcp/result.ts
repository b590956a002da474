import type { McpToolOffer } from "@chartroom/domain";
import type { Picture } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { agent, create } from "../wire.ts";
import { mcpError } from "./variants.ts";

export interface McpOutcome {
  readonly text: string;
  readonly isError: boolean;
  readonly result: agent.McpToolResult;
  readonly picture?: Picture;
}

/** What a client's answer means; `undefined`: nothing that is known. `approved` only precedes the result (wire section 5.3). */
export function mcpOutcome(answer: agent.McpResult, offer: McpToolOffer): McpOutcome | "wait" | undefined {
  const { result } = answer;
  const failed = (text: string): McpOutcome => ({ text, isError: true, result: mcpError(text) });
  switch (result.case) {
    case "success":
      return success(result.value);
    case "error":
      return failed(result.value.error || "The tool failed without a reason.");
    case "rejected":
      return {
        text: `The call was rejected${because(result.value.reason)}`,
        isError: true,
        result: create(agent.McpToolResultSchema, { result }),
      };
    case "permissionDenied":
      return {
        text: `Permission denied${because(result.value.error)}`,
        isError: true,
        result: create(agent.McpToolResultSchema, { result }),
      };
    case "toolNotFound":
      return failed(
        `The client has no tool ${result.value.name || offer.toolName}.${listed(result.value.availableTools)}`,
      );
    case "serverNotFound":
      return failed(
        `The client has no server ${result.value.name || offer.providerIdentifier}.${listed(result.value.availableServers)}`,
      );
    case "approved":
      return "wait";
    case undefined:
      return undefined;
  }
}

const listed = (names: readonly string[]): string => (names.length === 0 ? "" : ` It has: ${names.join(", ")}.`);

function success(value: agent.McpSuccess): McpOutcome {
  const pictures: Picture[] = [];
  const parts = value.content.flatMap(({ content }) => {
    switch (content.case) {
      case "text":
        return [textOf(content.value)];
      case "image": {
        const { data, mimeType } = content.value;
        pictures.push({ data, mimeType: mimeType || "image/png" });
        // a result carries one picture; the others are at least told
        return [
          `[picture, ${mimeType || "image/png"}, ${data.byteLength} bytes${pictures.length > 1 ? ", not shown" : ""}]`,
        ];
      }
      case undefined:
        return [];
    }
  });
  const structured = value.structuredContent;
  const hasStructure = structured !== undefined && Object.keys(structured).length > 0;
  // servers repeat the structure as text for those who read only text; where they did not, it is the content
  const text = [...parts, ...(hasStructure && parts.length === 0 ? [JSON.stringify(structured)] : [])].join("\n");
  const [picture] = pictures;
  return {
    text: text === "" ? "(no content)" : text,
    isError: value.isError,
    result: create(agent.McpToolResultSchema, { result: { case: "success", value } }),
    ...(picture !== undefined && { picture }),
  };
}

function textOf({ text, outputLocation }: agent.McpTextContent): string {
  return outputLocation === undefined
    ? text
    : `${text}\n[The full text (${outputLocation.sizeBytes} bytes) is in ${outputLocation.filePath}.]`;
}
