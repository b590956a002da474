import { selfSigned } from "@chartroom/test/support/gateway/certificate.ts";
import { describe, expect, it } from "vitest";
import { load, problems } from "./config-folder.ts";

const tokens = "tokens:\n  - { member: ada, token: env:TOKEN }\n";
const env = { TOKEN: "0123456789abcdef" };
const host = (name: string): string => `listen:\n  host: "${name}"\n`;

describe("the listening address", () => {
  it.each(["127.0.0.1", "127.1.2.3", "::1", "localhost"])("%s needs no tokens", (name) => {
    expect(load(host(name)).host).toBe(name);
  });

  it.each(["0.0.0.0", "::", "192.168.1.5", "127.0.0.1.example.com", "127.x", "example.com"])(
    "%s is refused without tokens, and taken with them",
    (name) => {
      expect(problems(host(name))).toEqual([
        `listen.host: ${name} is not loopback: without tokens anybody could use the provider keys`,
      ]);
      expect(load(host(name) + tokens, env).host).toBe(name);
    },
  );

  it("tells clients another address if it is given one", () => {
    expect(load("listen:\n  publicUrl: https://chartroom.example/\n").publicUrl).toBe("https://chartroom.example");
    expect(problems("listen:\n  publicUrl: chartroom.example\n")).toHaveLength(1);
    expect(problems("listen:\n  publicUrl: https://a:b@chartroom.example\n")).toHaveLength(1);
  });
});

describe("TLS", () => {
  const { cert, key } = selfSigned();
  const tls = "listen:\n  tls: { cert: cert.pem, key: key.pem }\n";

  it("reads the certificate and its key from files beside the configuration", () => {
    const config = load(tls, {}, { "cert.pem": cert, "key.pem": key });
    expect(String(config.tls?.cert)).toBe(cert);
    expect(String(config.tls?.key)).toBe(key);
  });

  it("is refused with files that are not there, not PEM, or not a pair", () => {
    expect(problems(tls)).toEqual([
      "listen.tls.cert: the file cert.pem cannot be read",
      "listen.tls.key: the file key.pem cannot be read",
    ]);
    const pair = ["listen.tls: the two files are not a certificate and its key, as PEM"];
    expect(problems(tls, {}, { "cert.pem": "x", "key.pem": "y" })).toEqual(pair);
    expect(problems(tls, {}, { "cert.pem": cert, "key.pem": selfSigned().key })).toEqual(pair);
    expect(problems("listen:\n  tls: { cert: cert.pem }\n", {}, { "cert.pem": cert })).toHaveLength(1);
  });
});
