import { randomUUID } from "node:crypto";
import http2 from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { encodeFrame, FLAG_END_STREAM, FrameReader } from "@chartroom/protocol";
import {
  AgentClientMessageSchema,
  AgentMode,
  AgentServerMessageSchema,
  RequestContextResultSchema,
  type AgentClientMessage,
  type AgentServerMessage,
} from "@chartroom/protocols/agent";
import { nowUs } from "../lib/stats.ts";
import type { Lane, OnChunk, Road, Streamed } from "./lane.ts";
import { MarkReader } from "./marks.ts";

/**
 * Through the server, as an agent client goes: `Run` over cleartext HTTP/2, a connection per client, a new conversation per
 * stream. It answers what a client must answer (context, blobs); text is not decoded, only looked through for marks.
 */
export function runRoad(name: string, origin: string): Road {
  return { name, lane: () => RunLane.open(origin) };
}

const RUN = "/agent.v1.AgentService/Run";

class RunLane implements Lane {
  readonly #session: http2.ClientHttp2Session;

  static open(origin: string): Promise<RunLane> {
    return new Promise((resolve, reject) => {
      const session = http2.connect(origin, { settings: { enablePush: false } });
      session.once("error", reject);
      session.once("connect", () => resolve(new RunLane(session)));
    });
  }

  constructor(session: http2.ClientHttp2Session) {
    this.#session = session;
    session.on("error", () => undefined);
  }

  stream(model: string, onChunk?: OnChunk): Promise<Streamed> {
    return new Promise((resolve) => {
      const begun = nowUs();
      const call = this.#session.request(
        {
          ":method": "POST",
          ":path": RUN,
          "content-type": "application/connect+proto",
          "connect-protocol-version": "1",
          "x-request-id": randomUUID(),
          "x-cursor-client-type": "cli",
          "x-cursor-client-version": "bench",
        },
        { endStream: false },
      );
      const frames = new FrameReader("connect");
      const marks = new MarkReader();
      let chunks = 0;
      let firstUs = 0;
      let end: string | undefined;
      const send = (message: AgentClientMessage["message"]): void => {
        if (!call.writable) return;
        call.write(encodeFrame(0, toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }))));
      };
      call.on("data", (data: Buffer) => {
        const now = nowUs();
        const read = frames.push(data);
        if (!read.ok) return call.destroy();
        for (const { flags, payload } of read.value) {
          const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
          if ((flags & FLAG_END_STREAM) !== 0) end = bytes.toString("utf8");
          else if (bytes.includes("@@") && !isBlob(bytes)) {
            marks.push(bytes, now, (latency) => {
              chunks++;
              if (firstUs === 0) firstUs = now - begun;
              onChunk?.(latency);
            });
          } else answer(fromBinary(AgentServerMessageSchema, payload), send);
        }
        if (end !== undefined) call.end();
      });
      call.on("error", () => undefined);
      call.on("close", () => {
        const error = end === undefined ? "the stream broke off" : end === "{}" ? undefined : end;
        resolve({ chunks, firstUs, ...(error !== undefined && { error }) });
      });
      send(runRequest(model));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

/** Field 1 is an interaction update; checkpoints and blobs hold the text of the turn again. */
function isBlob(bytes: Buffer): boolean {
  return bytes[0] !== 0x0a;
}

function runRequest(model: string): AgentClientMessage["message"] {
  return create(AgentClientMessageSchema, {
    message: {
      case: "runRequest",
      value: {
        conversationState: {},
        conversationId: randomUUID(),
        runId: randomUUID(),
        requestedModel: { modelId: model },
        action: {
          action: {
            case: "userMessageAction",
            value: {
              userMessage: { text: "Say something.", messageId: randomUUID(), mode: AgentMode.AGENT },
              requestContext: { env: { osVersion: "linux", shell: "bash", workspacePaths: ["/bench"] } },
            },
          },
        },
      },
    },
  }).message;
}

function answer(message: AgentServerMessage, send: (message: AgentClientMessage["message"]) => void): void {
  const { message: asked } = message;
  if (asked.case === "execServerMessage" && asked.value.message.case === "requestContextArgs") {
    const value = create(RequestContextResultSchema, {
      result: {
        case: "success",
        value: { requestContext: { env: { osVersion: "linux", workspacePaths: ["/bench"] } } },
      },
    });
    const { id, execId } = asked.value;
    const reply = {
      case: "execClientMessage",
      value: { id, execId, message: { case: "requestContextResult", value } },
    } as const;
    send(create(AgentClientMessageSchema, { message: reply }).message);
  }
  if (asked.case !== "kvServerMessage") return;
  const { id, message: kv } = asked.value;
  const result =
    kv.case === "setBlobArgs"
      ? ({ case: "setBlobResult", value: {} } as const)
      : ({ case: "getBlobResult", value: {} } as const);
  send(
    create(AgentClientMessageSchema, { message: { case: "kvClientMessage", value: { id, message: result } } }).message,
  );
}
