import http from "node:http";
import type { AddressInfo } from "node:net";

/** A request body as chat completions have it; what a test looks at. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What one call answers: pieces of text, or calls of tools. */
export interface StubAnswer {
  readonly text?: readonly string[];
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
  /** Waits before the last piece. */
  readonly before?: Promise<void>;
  /** Breaks the connection off instead of ending in order. */
  readonly cut?: boolean;
  /** Refuses it with a status and this message of an error, and says nothing else. */
  readonly refused?: { readonly status: number; readonly message: string };
}

export interface OpenAiStub {
  /** The base URL for a provider of kind `openai`. */
  readonly url: string;
  /** What came, oldest first: the body as text, and the key that came with it. */
  readonly requests: readonly { readonly body: string; readonly authorization: string }[];
  close(): Promise<void>;
}

/** A vendor of chat completions on loopback whose answers a test makes of the requests. */
export async function openAiStub(answer: (request: ChatRequest, body: string) => StubAnswer): Promise<OpenAiStub> {
  const requests: { body: string; authorization: string }[] = [];
  const server = http.createServer((request, response) => {
    void reply(request, response, answer, requests);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function reply(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  answer: (request: ChatRequest, body: string) => StubAnswer,
  requests: { body: string; authorization: string }[],
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts).toString("utf8");
  requests.push({ body, authorization: request.headers.authorization ?? "" });
  const { text = [], calls = [], before, cut = false, refused } = answer(JSON.parse(body) as ChatRequest, body);
  response.on("error", () => undefined);
  if (refused !== undefined) {
    const { status, message } = refused;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "invalid_request_error", code: null } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (choice: Readonly<Record<string, unknown>>): void => {
    response.write(
      `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`,
    );
  };
  for (const [at, content] of text.entries()) {
    if (at === text.length - 1) await before;
    send({ delta: { role: "assistant", content } });
  }
  for (const [index, { name, args }] of calls.entries())
    send({
      delta: {
        tool_calls: [
          { index, id: `call_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } },
        ],
      },
    });
  if (cut) {
    response.destroy();
    return;
  }
  send({ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" });
  response.write(
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}
