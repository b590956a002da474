import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Output, pieces } from "./output.ts";

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "output-"));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const open = (thresholdBytes = 1000) => new Output({ thresholdBytes, file: path.join(folder, "terminals/1.txt") });

describe("TL-10, TL-11: characters stay whole and invalid bytes are replaced", () => {
  it("however the bytes are cut", () => {
    const text = "héllo 世界 😀\n";
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      const output = open();
      let seen = "";
      for (let at = 0; at < bytes.length; at += size) {
        seen += output.write("stdout", bytes.subarray(at, at + size)).join("");
      }
      seen += output.end("stdout").join("");
      expect(seen).toBe(text);
      expect(output.text("stdout").text).toBe(text);
    }
  });

  it("one long line of wide characters comes in pieces that are each well formed", () => {
    const line = "世😀".repeat(3000);
    const parts = open(100_000).write("stdout", Buffer.from(line));
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.every((part) => part.length <= 4096 && part.isWellFormed())).toBe(true);
    expect(parts.join("")).toBe(line);
  });

  it("bytes that are no UTF-8", () => {
    const output = open();
    expect(output.write("stderr", Uint8Array.of(0x61, 0xff, 0x62)).join("")).toBe("a\uFFFDb");
    expect(output.write("stderr", Uint8Array.of(0xe4, 0xb8)).join("")).toBe("");
    expect(output.end("stderr").join("")).toBe("\uFFFD");
  });
});

describe("too much output", () => {
  it("keeps beginning and end, and the whole in a file", () => {
    const output = open(100);
    for (let line = 0; line < 100; line++) output.write("stdout", Buffer.from(`line ${line}\n`));
    const { text, head, tail, elidedChars } = output.text("stdout");
    expect(head.startsWith("line 0\n")).toBe(true);
    expect(tail.endsWith("line 99\n")).toBe(true);
    expect(text.length).toBeLessThan(200);
    const file = output.location();
    const whole = fs.readFileSync(file?.path ?? "", "utf8");
    expect(whole.length).toBe(head.length + tail.length + elidedChars);
    expect(file).toMatchObject({ sizeBytes: whole.length, lineCount: 100 });
    expect(fs.statSync(file?.path ?? "").mode & 0o777).toBe(0o600);
    output.close();
  });

  it("needs no file while it is short, and can be asked for one", () => {
    const output = open();
    output.write("stdout", Buffer.from("a\n"));
    expect(output.location()).toBeUndefined();
    const { path: file } = output.keepFile();
    output.write("stderr", Buffer.from("b\n"));
    expect(fs.readFileSync(file, "utf8")).toBe("a\nb\n");
    output.close();
  });
});

it("pieces", () => {
  expect(pieces("", 3)).toEqual([]);
  expect(pieces("abcd", 3)).toEqual(["abc", "d"]);
  expect(pieces("ab😀c", 3)).toEqual(["ab", "😀c"]);
  expect(pieces("😀😀", 1)).toEqual(["😀", "😀"]);
});
