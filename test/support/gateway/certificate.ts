import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A key and a self-signed certificate for 127.0.0.1 and localhost, made anew: no key lies in the repository. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = seq(oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const name = seq(set(seq(oid("550403"), der(0x0c, Buffer.from("chartroom test")))));
  const names = seq(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from("localhost")));
  const alternative = seq(oid("551d11"), der(0x04, names)); // subjectAltName
  const body = seq(
    der(0xa0, integer(2)), // version 3
    integer(1),
    algorithm,
    name,
    seq(time("200101000000Z"), time("491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, seq(alternative)),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = seq(body, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  return { key: pemKey(privateKey), cert: pem("CERTIFICATE", certificate) };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const seq = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
const set = (part: Buffer): Buffer => der(0x31, part);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const integer = (value: number): Buffer => der(0x02, Buffer.of(value));
const time = (text: string): Buffer => der(0x17, Buffer.from(text));

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

function pemKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
