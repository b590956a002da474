import type { RestRoutes } from "@chartroom/gateway/face";
import type { Metrics } from "../options.ts";

/** `GET /metrics`: counts for a scraper, behind the same authentication as everything else. */
export const metricsRoute =
  ({ contentType, text }: Metrics): RestRoutes =>
  (app) => {
    app.get("/metrics", async (c) => c.text(await text(), 200, { "content-type": contentType }));
  };
