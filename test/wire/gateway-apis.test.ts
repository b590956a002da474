import { create, fromBinary, fromJson, toBinary, toJson, type DescMessage } from "@bufbuild/protobuf";
import { createApis, type ApiOptions } from "@chartroom/apis";
import type { ModelId, ModelInfo } from "@chartroom/domain";
import { agent, aiserver } from "@chartroom/gateway/face";
import { FrameReader } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import { ManualClock } from "../support/gateway/manual-clock.ts";
import { PEER_KINDS } from "../support/gateway/peer.ts";

const model = (id: string, part: Partial<ModelInfo> = {}): ModelInfo => ({
  id: id as ModelId,
  displayName: `Model ${id}`,
  provider: "acme",
  upstreamModel: `${id}-2026`,
  contextWindow: 200_000,
  maxOutputTokens: 8000,
  supportsImages: true,
  supportsThinking: false,
  aliases: [],
  ...part,
});
const MODELS = [
  model("fast", { aliases: ["quick"] }),
  model("deep", { supportsThinking: true, supportsImages: false, contextWindow: 64_000 }),
];
const clock = new ManualClock(Date.parse("2026-11-30T12:00:00Z"));
const options: ApiOptions = { models: { list: () => MODELS, defaultModel: MODELS[0]! }, clock };

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway({ apis: [createApis(options)] });
});
afterEach(() => harness.close());

async function restart(part: Partial<ApiOptions>): Promise<void> {
  await harness.close();
  harness = await startGateway({ apis: [createApis({ ...options, ...part })] });
}

/** Calls in JSON and in protobuf; both have to say the same. */
async function call(
  path: string,
  output: DescMessage,
  input?: { readonly schema: DescMessage; readonly json: object },
): Promise<unknown> {
  const peer = harness.peer();
  const inJson = await peer.send(
    "POST",
    path,
    { "content-type": "application/json" },
    JSON.stringify(input?.json ?? {}),
  );
  expect([inJson.status, inJson.headers["content-type"]], path).toEqual([200, "application/json"]);
  const json = JSON.parse(inJson.body.toString()) as never;
  const body =
    input === undefined ? new Uint8Array() : toBinary(input.schema, fromJson(input.schema, input.json as never));
  const binary = await peer.send("POST", path, { "content-type": "application/proto" }, body);
  expect([binary.status, binary.headers["content-type"]], path).toEqual([200, "application/proto"]);
  expect(toJson(output, fromBinary(output, binary.body)), path).toEqual(toJson(output, fromJson(output, json)));
  return json;
}

describe("every call", () => {
  const rpcs = createApis(options).rpcs.map(({ method }) => ({
    path: `/${method.parent.typeName}/${method.name}`,
    method,
  }));

  it.each(rpcs.filter(({ method }) => method.methodKind === "unary"))(
    "$path answers an empty request, in JSON and protobuf",
    async ({ path, method }) => {
      const body = JSON.stringify(await call(path, method.output));
      expect(body.startsWith("{")).toBe(true);
    },
  );

  it.each(rpcs.filter(({ method }) => method.methodKind !== "unary"))(
    "$path ends its stream cleanly",
    async ({ path }) => {
      const reply = await harness
        .peer()
        .send("POST", path, { "content-type": "application/connect+proto" }, Buffer.from([0, 0, 0, 0, 0]));
      const frames = new FrameReader("connect").push(reply.body);
      const last = frames.ok ? frames.value.at(-1) : undefined;
      expect([reply.status, last?.flags, Buffer.from(last?.payload ?? []).toString()]).toEqual([200, 2, "{}"]);
    },
  );

  it("is there that a client cannot do without", () => {
    const paths = new Set(rpcs.map(({ path }) => path));
    for (const path of [
      "/agent.v1.AgentService/GetUsableModels",
      "/aiserver.v1.AiService/GetUsableModels",
      "/agent.v1.AgentService/GetDefaultModelForCli",
      "/aiserver.v1.AiService/GetDefaultModelForCli",
      "/aiserver.v1.AiService/AvailableModels",
      "/aiserver.v1.CppService/AvailableModels",
      "/aiserver.v1.AiService/GetServerConfig",
      "/aiserver.v1.ServerConfigService/GetServerConfig",
      "/agent.v1.AgentService/NameAgent",
      "/aiserver.v1.AiService/NameAgent",
      "/aiserver.v1.NetworkService/IsConnected",
      "/aiserver.v1.AnalyticsService/BootstrapStatsig",
      "/aiserver.v1.AnalyticsService/Batch",
      "/aiserver.v1.AnalyticsService/TrackEvents",
      "/aiserver.v1.AnalyticsService/SubmitLogs",
      "/aiserver.v1.AuthService/GetEmail",
      "/aiserver.v1.AuthService/GetUserMeta",
      "/aiserver.v1.DashboardService/GetMe",
      "/aiserver.v1.DashboardService/GetTeams",
    ]) {
      expect(paths, path).toContain(path);
    }
    expect(paths.size).toBe(rpcs.length);
  });
});

describe("models (TR-19)", () => {
  const fast = {
    modelId: "fast",
    displayModelId: "fast",
    displayName: "Model fast",
    displayNameShort: "Model fast",
    aliases: ["quick"],
    maxMode: false,
    apiKeyCredentials: { apiKey: "chartroom" },
  };

  it.each(["agent.v1.AgentService", "aiserver.v1.AiService"])(
    "GetUsableModels and GetDefaultModelForCli of %s",
    async (service) => {
      const deep = {
        ...fast,
        modelId: "deep",
        displayModelId: "deep",
        displayName: "Model deep",
        displayNameShort: "Model deep",
        thinkingDetails: {},
      };
      const { aliases: _, ...withoutAliases } = deep;
      expect(await call(`/${service}/GetUsableModels`, agent.GetUsableModelsResponseSchema)).toEqual({
        models: [fast, withoutAliases],
      });
      expect(await call(`/${service}/GetDefaultModelForCli`, agent.GetDefaultModelForCliResponseSchema)).toEqual({
        model: fast,
      });
    },
  );

  it("AvailableModels", async () => {
    const got = await call("/aiserver.v1.AiService/AvailableModels", aiserver.AvailableModelsResponseSchema);
    const feature = { defaultModel: "fast" };
    const deep = {
      name: "deep",
      defaultOn: true,
      isLongContextOnly: false,
      isChatOnly: false,
      supportsAgent: true,
      degradationStatus: "DEGRADATION_STATUS_UNSPECIFIED",
      supportsThinking: true,
      supportsImages: false,
      supportsAutoContext: true,
      supportsMaxMode: true,
      supportsNonMaxMode: true,
      contextTokenLimit: 64_000,
      contextTokenLimitForMaxMode: 64_000,
      clientDisplayName: "Model deep",
      serverModelName: "deep",
      inputboxShortModelName: "Model deep",
      supportsPlanMode: true,
      supportsSandboxing: true,
      supportsCmdK: true,
      onlySupportsCmdK: false,
      isUserAdded: false,
      isHidden: false,
      vendorName: "acme",
    };
    expect(got).toEqual({
      modelNames: ["fast", "deep"],
      models: [
        {
          ...deep,
          name: "fast",
          supportsThinking: false,
          supportsImages: true,
          contextTokenLimit: 200_000,
          contextTokenLimitForMaxMode: 200_000,
          clientDisplayName: "Model fast",
          serverModelName: "fast",
          inputboxShortModelName: "Model fast",
          idAliases: ["quick"],
        },
        deep,
      ],
      composerModelConfig: feature,
      cmdKModelConfig: feature,
      backgroundComposerModelConfig: feature,
      planExecutionModelConfig: feature,
      specModelConfig: feature,
      deepSearchModelConfig: feature,
      quickAgentModelConfig: feature,
      displayConfiguration: {},
    });
  });

  it("GetEffectiveTokenLimit, by id, alias and default; an unknown model is an error", async () => {
    const path = "/aiserver.v1.AiService/GetEffectiveTokenLimit";
    const schema = aiserver.GetEffectiveTokenLimitRequestSchema;
    for (const [name, tokenLimit] of [
      ["deep", 64_000],
      ["quick", 200_000],
      ["default", 200_000],
    ] as const) {
      expect(
        await call(path, aiserver.GetEffectiveTokenLimitResponseSchema, {
          schema,
          json: { modelDetails: { modelName: name } },
        }),
      ).toEqual({ tokenLimit });
    }
    const reply = await harness
      .peer()
      .send("POST", path, { "content-type": "application/json" }, `{"modelDetails":{"modelName":"gone"}}`);
    expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([
      404,
      expect.objectContaining({ code: "not_found" }),
    ]);
  });

  it("a change shows at the next call (SE-14)", async () => {
    const models = [model("one")];
    await restart({
      models: {
        list: () => models,
        get defaultModel() {
          return models[0]!;
        },
      },
    });
    models.unshift(model("two"));
    expect(await call("/aiserver.v1.AiService/GetUsableModels", agent.GetUsableModelsResponseSchema)).toMatchObject({
      models: [{ modelId: "two" }, { modelId: "one" }],
    });
    expect(await call("/aiserver.v1.AiService/GetDefaultModel", aiserver.GetDefaultModelResponseSchema)).toMatchObject({
      model: "two",
    });
  });
});

describe("GetServerConfig (TR-19, TR-20)", () => {
  const paths = ["/aiserver.v1.AiService/GetServerConfig", "/aiserver.v1.ServerConfigService/GetServerConfig"];

  it.each(paths)("%s has what a client dereferences", async (path) => {
    const url = `http://127.0.0.1:${harness.port}`;
    const config = (await call(path, aiserver.GetServerConfigResponseSchema)) as Record<string, Record<string, string>>;
    expect(config).toEqual({
      configVersion: expect.stringMatching(/^chartroom-[0-9a-f]{12}$/),
      agentUrlConfig: { agentUrl: url, agentnUrl: url },
      indexingConfig: {
        defaultUserPathEncryptionKey: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        defaultTeamPathEncryptionKey: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      },
      cliSandboxDefaultEnabled: true,
      clientTracingConfig: {},
      profilingConfig: {},
      metricsConfig: {},
      performanceEventsConfig: {},
      traceConfig: {},
      onlineMetricsConfig: {},
      agentTelemetryConfig: {},
      backgroundComposerConfig: {},
      autoContextConfig: {},
    });
    expect(Buffer.from(config["indexingConfig"]?.["defaultUserPathEncryptionKey"] ?? "", "base64url")).toHaveLength(32);
  });

  it.each(PEER_KINDS)("names the address under which the caller came, over %s", async (kind) => {
    const reply = await harness.peer(kind).send("POST", paths[1] ?? "", { "content-type": "application/json" }, "{}");
    const scheme = kind.startsWith("tls") ? "https" : "http";
    expect(JSON.parse(reply.body.toString())).toMatchObject({
      agentUrlConfig: { agentUrl: `${scheme}://127.0.0.1:${harness.port}` },
    });
  });

  it.each([
    ["http1", "HTTP2_CONFIG_FORCE_ALL_DISABLED"],
    ["http2", "HTTP2_CONFIG_FORCE_ALL_ENABLED"],
  ] as const)(
    "tells the transport %s and the public address as configured, in another version",
    async (transport, http2Config) => {
      const before = (await call(paths[0] ?? "", aiserver.GetServerConfigResponseSchema)) as { configVersion: string };
      await restart({ transport, publicUrl: "https://chartroom.example" });
      const config = await call(paths[0] ?? "", aiserver.GetServerConfigResponseSchema);
      expect(config).toMatchObject({
        http2Config,
        agentUrlConfig: { agentUrl: "https://chartroom.example", agentnUrl: "https://chartroom.example" },
      });
      expect(config).not.toMatchObject({ configVersion: before.configVersion });
      expect(await call(paths[1] ?? "", aiserver.GetServerConfigResponseSchema)).toEqual(config);
    },
  );
});

describe("naming", () => {
  const json = { userMessage: "Please fix the build" };
  const schema = agent.NameAgentRequestSchema;
  it.each(["agent.v1.AgentService", "aiserver.v1.AiService"])("NameAgent of %s asks the model", async (service) => {
    await restart({ nameChat: async (message) => ` Build\nfix: ${message.length} ` });
    expect(await call(`/${service}/NameAgent`, agent.NameAgentResponseSchema, { schema, json })).toEqual({
      name: "Build fix: 20",
    });
  });

  it.each([
    ["there is no model", undefined],
    ["the model fails", () => Promise.reject(new Error("no"))],
    ["the model says nothing", async () => "  "],
  ])("takes the first words when %s", async (_, nameChat) => {
    await restart(nameChat === undefined ? {} : { nameChat });
    expect(await call("/agent.v1.AgentService/NameAgent", agent.NameAgentResponseSchema, { schema, json })).toEqual({
      name: "Please fix the build",
    });
    expect(await call("/agent.v1.AgentService/NameAgent", agent.NameAgentResponseSchema)).toEqual({ name: "New chat" });
  });

  it("NameTab takes the first message of a person", async () => {
    const messages = [
      { type: "MESSAGE_TYPE_AI", text: "Hi" },
      { type: "MESSAGE_TYPE_HUMAN", text: "Add a test" },
    ];
    expect(
      await call("/aiserver.v1.AiService/NameTab", aiserver.NameTabResponseSchema, {
        schema: aiserver.NameTabRequestSchema,
        json: { messages },
      }),
    ).toEqual({ name: "Add a test" });
  });
});

describe("account", () => {
  it("tells who the caller is", async () => {
    expect(await call("/aiserver.v1.AuthService/GetEmail", aiserver.GetEmailResponseSchema)).toEqual({
      email: "ann@team.chartroom.invalid",
      signUpType: "SIGN_UP_TYPE_AUTH_0",
    });
    const meta = (await call("/aiserver.v1.AuthService/GetUserMeta", aiserver.GetUserMetaResponseSchema)) as {
      userId: string;
    };
    expect(await call("/aiserver.v1.DashboardService/GetMe", aiserver.GetMeResponseSchema)).toEqual({
      authId: "chartroom|ann",
      userId: Number(meta.userId),
      email: "ann@team.chartroom.invalid",
      firstName: "ann",
      lastName: "",
      isEnterpriseUser: false,
      isTeamAdmin: false,
    });
    expect(await call("/aiserver.v1.DashboardService/GetPlanInfo", aiserver.GetPlanInfoResponseSchema)).toEqual({
      planInfo: {
        planName: "Chartroom (own model keys)",
        price: "",
        billingCycleEnd: String(Date.parse("2026-12-01T00:00:00Z")),
      },
    });
    expect(
      await call("/aiserver.v1.DashboardService/GetUserPrivacyMode", aiserver.GetUserPrivacyModeResponseSchema),
    ).toEqual({
      privacyMode: "PRIVACY_MODE_NO_TRAINING",
      hasAcknowledgedGracePeriodDisclaimer: true,
    });
  });

  it("BootstrapStatsig is a configuration in which nothing is on", async () => {
    const got = (await call(
      "/aiserver.v1.AnalyticsService/BootstrapStatsig",
      aiserver.BootstrapStatsigResponseSchema,
    )) as { config: string; generatedAtMs: string };
    expect(JSON.parse(got.config)).toEqual({
      feature_gates: {},
      dynamic_configs: {},
      layer_configs: {},
      has_updates: true,
      hash_used: "djb2",
      time: clock.now(),
    });
    expect(got.generatedAtMs).toBe(String(clock.now()));
  });

  it("switches are off, by name", async () => {
    const schema = aiserver.CheckFeaturesStatusRequestSchema;
    const got = await call("/aiserver.v1.AiService/CheckFeaturesStatus", aiserver.CheckFeaturesStatusResponseSchema, {
      schema,
      json: { featureNames: ["a", "b"] },
    });
    expect(got).toEqual({ featureStatuses: [{ featureName: "a" }, { featureName: "b" }] });
  });

  it("telemetry is dropped, and says so", async () => {
    const schema = aiserver.SubmitLogsRequestSchema;
    const got = await call("/aiserver.v1.AnalyticsService/SubmitLogs", aiserver.SubmitLogsResponseSchema, {
      schema,
      json: { logs: [{ message: "x" }, { message: "y" }] },
    });
    expect(got).toEqual({ success: true, logsDropped: 2 });
  });

  it("IsConnected is an empty message", async () => {
    const reply = await harness
      .peer()
      .send("POST", "/aiserver.v1.NetworkService/IsConnected", { "content-type": "application/proto" });
    expect([reply.status, reply.body.byteLength]).toEqual([200, 0]);
    expect(toBinary(aiserver.IsConnectedResponseSchema, create(aiserver.IsConnectedResponseSchema))).toHaveLength(0);
  });
});

describe("REST paths of the account", () => {
  it("give the presented token back where the vendor would exchange it", async () => {
    const peer = harness.peer();
    const exchanged = await peer.send(
      "POST",
      "/auth/exchange_user_api_key",
      { "content-type": "application/json" },
      "{}",
    );
    expect([exchanged.status, JSON.parse(exchanged.body.toString())]).toEqual([
      200,
      { accessToken: "token-ann", refreshToken: "token-ann" },
    ]);
    const refreshed = await peer.send(
      "POST",
      "/oauth/token",
      { "content-type": "application/json" },
      `{"grant_type":"refresh_token"}`,
    );
    expect(JSON.parse(refreshed.body.toString())).toEqual({
      access_token: "token-ann",
      id_token: "token-ann",
      shouldLogout: false,
    });
    expect((await harness.peer("h1", "wrong").send("POST", "/auth/exchange_user_api_key")).status).toBe(401);
  });

  it.each([
    ["GET", "/auth/poll?uuid=1&verifier=2", 404],
    ["GET", "/auth/stripe_profile", 200],
    ["GET", "/auth/full_stripe_profile", 200],
    ["GET", "/auth/has_valid_payment_method", 200],
    ["POST", "/auth/logout", 200],
    ["POST", "/v1/traces", 200],
  ])("%s %s answers %i", async (method, path, status) => {
    const reply = await harness.peer().send(method, path, {}, method === "POST" ? "{}" : "");
    expect(reply.status).toBe(status);
    expect(() => JSON.parse(reply.body.toString()) as unknown).not.toThrow();
  });
});
