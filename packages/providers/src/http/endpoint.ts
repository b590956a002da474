import type { AuthStyle } from "../config.ts";

/** The address of a call: the base with a path behind it; a query of the base stays. */
export function endpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  url.hash = "";
  return url;
}

interface Keyed {
  readonly apiKey: string;
  readonly auth?: AuthStyle;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers of every request: what the format needs, the key in the vendor's way, and over both what is configured. */
export function requestHeaders(
  { apiKey, auth, headers = {} }: Keyed,
  usual: AuthStyle,
  format: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const style = auth ?? usual;
  const configured = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity",
    "user-agent": "chartroom",
    ...format,
    ...(style === "bearer" && { authorization: `Bearer ${apiKey}` }),
    ...((style === "x-api-key" || style === "api-key") && { [style]: apiKey }),
    ...Object.fromEntries(configured),
  };
}

/** What must not be in any message: the key, configured header values, the host. */
export function secretsOf({ apiKey, headers = {} }: Keyed, url: URL): readonly string[] {
  return [apiKey, ...Object.values(headers), url.host, url.hostname];
}
