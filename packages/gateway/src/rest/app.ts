import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Principal } from "@chartroom/domain";
import type { RestEnv, RestRoutes } from "../face/rest.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, ignoreErrors, isHttp2 } from "../http/types.ts";
import { stripHopHeaders } from "./hop-headers.ts";

/** Whether the server can do its work; `checks` says what it looked at. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks?: Readonly<Record<string, string>>;
}

export interface RestApp {
  readonly health: HttpHandler;
  /** Serves a request of a known caller. */
  serve(request: HttpRequest, response: HttpResponse, principal: Principal): void;
}

/** The routes that are not RPCs. `/healthz` says that the process lives, `/readyz` that it can work. */
export function createRestApp(
  readiness: () => Readiness | Promise<Readiness>,
  routes: readonly RestRoutes[],
  report: (cause: unknown) => void,
): RestApp {
  const app = new Hono<RestEnv>();
  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get("/readyz", async (c) => {
    const state = await readiness();
    return c.json(state, state.ready ? 200 : 503);
  });
  for (const add of routes) add(app);
  app.notFound((c) => c.json({ error: "not found" }, 404));
  app.onError((cause, c) => {
    report(cause);
    return c.json({ error: "internal error" }, 500);
  });

  const callers = new WeakMap<object, Principal>();
  const listener = getRequestListener(
    (request, env) => {
      const principal = callers.get(env.incoming);
      return app.fetch(request, principal === undefined ? {} : { principal });
    },
    { overrideGlobalObjects: false, errorHandler: () => new Response("bad request", { status: 400 }) },
  );
  const handle = (request: HttpRequest, response: HttpResponse): void => {
    if (isHttp2(response)) stripHopHeaders(response);
    ignoreErrors(response);
    void listener(request, response);
  };
  return {
    health: handle,
    serve(request, response, principal) {
      callers.set(request, principal);
      handle(request, response);
    },
  };
}
