import type { Hono } from "hono";
import type { Principal } from "@chartroom/domain";

/** What a REST route finds in `c.env`: who calls. */
export interface RestEnv {
  readonly Bindings: { readonly principal: Principal };
}

/** Adds routes; every one of them is behind the same authentication as the RPCs. */
export type RestRoutes = (app: Hono<RestEnv>) => void;
