import type { Apis } from "@chartroom/gateway/face";
import { auth } from "./account/auth.ts";
import { dashboard } from "./account/dashboard.ts";
import { agentCalls } from "./agent-calls.ts";
import { nothingThere, switches, tabOff } from "./features.ts";
import { health } from "./health.ts";
import { availableModels } from "./models/available.ts";
import { usableModels } from "./models/usable.ts";
import { naming } from "./naming.ts";
import type { ApiOptions } from "./options.ts";
import { authRoutes } from "./rest/auth.ts";
import { metricsRoute } from "./rest/metrics.ts";
import { serverConfig } from "./server-config.ts";
import { telemetry } from "./telemetry.ts";

export type { ApiOptions, Metrics, TransportChoice } from "./options.ts";

/** The calls that a client makes beside its agent streams. */
export function createApis(options: ApiOptions): Apis {
  return {
    rpcs: [
      ...usableModels(options),
      ...availableModels(options),
      ...serverConfig(options),
      ...naming(options),
      ...auth(),
      ...dashboard(options),
      ...switches(options),
      ...tabOff(),
      ...nothingThere(),
      ...agentCalls(),
      ...telemetry(),
      ...health(options),
    ],
    rest: (app) => {
      authRoutes(app);
      if (options.metrics) metricsRoute(options.metrics)(app);
    },
  };
}
