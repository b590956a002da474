import type { RestRoutes } from "@chartroom/gateway/face";

/**
 * The account paths beside the RPCs that a client calls (wire section 2.5). A member's token is its own access token:
 * it is given back where the vendor's server would exchange it, and there is nothing to sign in to.
 */
export const authRoutes: RestRoutes = (app) => {
  app.post("/auth/exchange_user_api_key", (c) => {
    const token = presented(c.req.header("authorization"));
    return c.json({ accessToken: token, refreshToken: token });
  });
  app.post("/oauth/token", (c) => {
    const token = presented(c.req.header("authorization"));
    return c.json({ access_token: token, id_token: token, shouldLogout: false });
  });
  // a login page is the vendor's; a client that polls for it finds nothing
  app.get("/auth/poll", (c) => c.json({ error: "no login is pending" }, 404));
  app.all("/auth/logout", (c) => c.json({}));
  app.get("/auth/stripe_profile", (c) => c.json("pro"));
  app.get("/auth/full_stripe_profile", (c) => c.json(PROFILE));
  app.get("/auth/has_valid_payment_method", (c) => c.json({ hasValidPaymentMethod: true }));
  app.post("/v1/traces", (c) => c.json({}));
};

/** What a client reads its rights from: nothing is locked, nothing is billed. */
const PROFILE = {
  membershipType: "pro",
  subscriptionStatus: "active",
  paymentId: "",
  lastPaymentFailed: false,
  pendingCancellationDate: null,
  daysRemainingOnTrial: null,
};

/** The token of a call that has passed authentication; a server without tokens takes any, so there may be none. */
function presented(authorization: string | undefined): string {
  return /^bearer +(\S+)/i.exec(authorization ?? "")?.[1] ?? "local";
}
