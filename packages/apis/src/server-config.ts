import { createHash } from "node:crypto";
import type { Principal } from "@chartroom/domain";
import { aiserver, unary, type Call, type MessageInitShape, type Rpc } from "@chartroom/gateway/face";
import type { ApiOptions, TransportChoice } from "./options.ts";

type Config = MessageInitShape<typeof aiserver.GetServerConfigResponseSchema>;

const { Http2Config } = aiserver;
const HTTP2: Readonly<Record<TransportChoice, aiserver.Http2Config>> = {
  auto: Http2Config.UNSPECIFIED,
  http1: Http2Config.FORCE_ALL_DISABLED,
  http2: Http2Config.FORCE_ALL_ENABLED,
};

/** `GetServerConfig`, under both of its services (wire sections 2.3 and 14). */
export function serverConfig(options: ApiOptions): readonly Rpc[] {
  const answer = (_request: unknown, { principal, origin }: Call): Config =>
    versioned(configFor(principal, options.publicUrl ?? origin, options.transport ?? "auto"));
  return [
    unary(aiserver.AiService.method.getServerConfig, answer),
    unary(aiserver.ServerConfigService.method.getServerConfig, answer),
  ];
}

function configFor(
  principal: Principal,
  url: string,
  transport: TransportChoice,
): Omit<Config, "$typeName" | "$unknown"> {
  return {
    http2Config: HTTP2[transport],
    // both have to parse, or the client takes neither
    agentUrlConfig: { agentUrl: url, agentnUrl: url },
    // without the keys the file tools of the command line fail; nothing is indexed here, so they protect nothing
    indexingConfig: {
      defaultUserPathEncryptionKey: pathKey("member", principal.member),
      defaultTeamPathEncryptionKey: pathKey("team", principal.team),
    },
    cliSandboxDefaultEnabled: true,
    // the client's own telemetry stays off
    clientTracingConfig: {},
    profilingConfig: { enabled: false },
    metricsConfig: { enabledInPrivacyMode: false, enabledInNonPrivacyMode: false },
    performanceEventsConfig: { enabled: false },
    traceConfig: { enabled: false },
    onlineMetricsConfig: { enabled: false },
    agentTelemetryConfig: { enabled: false },
    backgroundComposerConfig: { enableBackgroundAgent: false },
    autoContextConfig: { enabled: false },
    isDevDoNotUseForSecretThingsBecauseCanBeSpoofedByUsers: false,
  };
}

/** A client keeps a configuration until its version changes, so the version follows the content. */
function versioned(config: Omit<Config, "$typeName" | "$unknown">): Config {
  const digest = createHash("sha256").update(JSON.stringify(config)).digest("hex");
  return { ...config, configVersion: `chartroom-${digest.slice(0, 12)}` };
}

/** 32 bytes in base64url, the form of an AES key; the same for the same owner, for ever. */
function pathKey(kind: string, owner: string): string {
  return createHash("sha256").update(`chartroom path key ${kind} ${owner}`).digest("base64url");
}
