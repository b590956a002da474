import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fakeVendor, until, type FakeVendor } from "../../test/fake-vendor.ts";
import { HandClock } from "../../test/hand-clock.ts";
import { collect, limits, request, textOf } from "../../test/requests.ts";
import { createModelDirectory, type OpenModelDirectory } from "../directory.ts";

const fixture = (name: string): string =>
  readFileSync(path.join(import.meta.dirname, "../../test/fixtures", name), "utf8");
const cert = fixture("loopback-cert.pem");
const signal = new AbortController().signal;

describe("a vendor over TLS", () => {
  let server: FakeVendor;
  let directory: OpenModelDirectory;
  afterEach(async () => {
    await directory.close();
    await server.close();
  });

  async function open(ca?: string) {
    server = await fakeVendor({ key: fixture("loopback-key.pem"), cert });
    const clock = new HandClock();
    const provider = {
      id: "v",
      kind: "openai",
      baseUrl: `${server.url}/v1`,
      apiKey: "key",
      models: [{ id: "m" }],
    } as const;
    const made = createModelDirectory({ providers: [provider] }, { clock, ...(ca !== undefined && { ca }) });
    if (!made.ok) throw new Error("the configuration is right");
    directory = made.value;
    return { clock, stream: () => collect(directory.resolve("m")!.provider.stream(request(), limits, signal)) };
  }

  it("is reached over one connection that is kept", async () => {
    const { clock, stream } = await open(cert);
    for (let n = 0; n < 2; n++) {
      const events = stream();
      const arrived = await server.next();
      arrived.begin();
      arrived.write(
        'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      );
      arrived.end();
      expect(textOf(await events)).toBe("hi");
      await until(() => clock.pending === 0, "the response to end");
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.connections).toBe(1);
  });

  it("is not trusted without its authority, and a retry would not help", async () => {
    const { stream } = await open();
    expect(await stream()).toMatchObject([{ type: "failed", failure: { kind: "transport", retryable: false } }]);
  });
});
