import http from "node:http";
import type { AddressInfo } from "node:net";
import { nowUs } from "../lib/stats.ts";
import { mark, MARK_BYTES } from "./marks.ts";

// The fake provider: OpenAI chat completions. The model's name says what it streams, `bench-CHUNKS-BYTES-GAP`: so many
// chunks of so many bytes, one every GAP milliseconds; 0 is as fast as the socket takes them. Without a request of that
// form it answers the name of the conversation, or whatever else was asked for, with one word.

const FILL = "abcdefghijklmnopqrstuvwxyz".repeat(4000);

interface Plan {
  readonly chunks: number;
  readonly bytes: number;
  readonly gapMs: number;
}

function planOf(model: string): Plan {
  const [, chunks, bytes, gap] = /^bench-(\d+)-(\d+)-(\d+)$/.exec(model) ?? [];
  return { chunks: Number(chunks ?? 1), bytes: Math.max(MARK_BYTES, Number(bytes ?? 20)), gapMs: Number(gap ?? 0) };
}

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const head = (model: string): object => ({
  id: "chatcmpl-b",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model,
});

const server = http.createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as { readonly model: string };
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    stream(response, body.model, planOf(body.model));
  });
});

function stream(response: http.ServerResponse, model: string, { chunks, bytes, gapMs }: Plan): void {
  const state = { sent: 0, closed: false };
  let timer: NodeJS.Timeout | undefined;
  response.on("close", () => {
    state.closed = true;
    clearTimeout(timer);
  });
  const delta = (value: object, finish: string | null): string =>
    event({ ...head(model), choices: [{ index: 0, delta: value, finish_reason: finish }] });
  const [before, after] = delta({ content: "#" }, null).split("#") as [string, string];
  const one = (): boolean => {
    state.sent++;
    return response.write(before + mark(nowUs()) + FILL.slice(0, bytes - MARK_BYTES) + after);
  };
  const finish = (): void => {
    const usage = { prompt_tokens: 10, completion_tokens: chunks, total_tokens: chunks + 10 };
    response.end(delta({}, "stop") + event({ ...head(model), choices: [], usage }) + "data: [DONE]\n\n");
  };
  response.write(delta({ role: "assistant", content: "" }, null));
  const begun = performance.now();
  const paced = (): void => {
    const due = Math.min(chunks, Math.floor((performance.now() - begun) / gapMs) + 1);
    while (state.sent < due && !state.closed) one();
    if (state.closed) return;
    if (state.sent >= chunks) return finish();
    timer = setTimeout(paced, Math.max(0.5, begun + state.sent * gapMs - performance.now()));
  };
  const burst = (): void => {
    while (state.sent < chunks && !state.closed) if (!one()) return void response.once("drain", burst);
    if (!state.closed) finish();
  };
  if (gapMs > 0) paced();
  else burst();
}

server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", 8_192, () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
});
process.on("SIGTERM", () => process.exit(0));
