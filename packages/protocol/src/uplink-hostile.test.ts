import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { wrap } from "./bytes.ts";
import { clientBytes, MESSAGE } from "./uplink.fixture.ts";
import { decodeUplink } from "./uplink.ts";

describe("hostile bytes", () => {
  const seeds = [
    clientBytes({
      case: "runRequest",
      value: {
        conversationId: "conv-1",
        conversationState: { readPaths: ["/a"] },
        action: {
          action: {
            case: "userMessageAction",
            value: {
              userMessage: { ...MESSAGE, selectedContext: { files: [{ path: "/f", content: "c" }] } },
              requestContext: {
                env: { shell: "sh" },
                projectLayouts: [{ absPath: "/ws", childrenDirs: [{ absPath: "/ws/a" }] }],
              },
            },
          },
        },
      },
    }),
    clientBytes({
      case: "conversationAction",
      value: { action: { case: "executePlanAction", value: { plan: { plan: "p" } } } },
    }),
    clientBytes({
      case: "kvClientMessage",
      value: { id: 1, message: { case: "getBlobResult", value: { blobData: Buffer.from("b") } } },
    }),
  ];
  const isClean = (bytes: Uint8Array): boolean => {
    const result = decodeUplink(bytes);
    return result.ok || ["malformed", "identity", "missing"].includes(result.error.kind);
  };

  it("give a message or a tagged error, never an exception", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(isClean(bytes)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("do so too when they are nearly right", () => {
    const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), cut: fc.boolean() });
    fc.assert(
      fc.property(fc.constantFrom(...seeds), fc.array(edit, { minLength: 1, maxLength: 6 }), (seed, edits) => {
        let bytes = Uint8Array.from(seed);
        for (const { at, byte, cut } of edits) {
          const place = at % (bytes.byteLength + 1);
          if (cut) bytes = Uint8Array.from([...bytes.subarray(0, place), ...bytes.subarray(place + 1)]);
          else bytes[place] = byte;
        }
        expect(isClean(bytes)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it("do so when nested without end", () => {
    // run_request, action, user_message_action, request_context, project_layouts, children_dirs and so on
    const bytes = wrap([1, 2, 1, 2, 13, ...Array.from({ length: 20_000 }, () => 2)], Buffer.from([0x0a, 1, 0x61]));
    expect(decodeUplink(bytes)).toEqual({ ok: false, error: { kind: "malformed", what: "AgentClientMessage" } });
  });
});
