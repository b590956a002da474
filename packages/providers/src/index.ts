export type {
  AnthropicConfig,
  AnthropicOptions,
  AuthStyle,
  DemoConfig,
  ModelConfig,
  OpenAiConfig,
  OpenAiOptions,
  ProviderConfig,
  ThinkingStyle,
} from "./config.ts";
export {
  createModelDirectory,
  type ConfigProblem,
  type ModelDirectoryConfig,
  type ModelDirectoryPorts,
  type OpenModelDirectory,
} from "./directory.ts";
export { requestBody } from "./request-body.ts";
