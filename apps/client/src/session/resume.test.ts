import { toBinary } from "@bufbuild/protobuf";
import { blobId, blobIdBytes, wrap } from "@chartroom/protocol";
import { AgentRunRequestSchema } from "@chartroom/protocols/agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { eventsOf, resultOf, say, Stage } from "../../test/clients.ts";

vi.setConfig({ testTimeout: 30_000 });

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const data = new Uint8Array(Buffer.from('{"role":"system","content":"x"}'));
const id = blobIdBytes(blobId(data));

describe("blobs and the checkpoint", () => {
  it("come back to the server in the next turn, also from another start of the client", async () => {
    // a field that this schema does not know must survive, so the checkpoint is kept as bytes
    const unknown = Uint8Array.from([0xf2, 0x3f, 1, 7]);
    const state = Buffer.concat([wrap([1], id), unknown]);
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.send({
          case: "kvServerMessage",
          value: { id: 1, message: { case: "setBlobArgs", value: { blobId: id, blobData: data } } },
        });
        await run.next("kvClientMessage");
        run.raw(Buffer.concat([Uint8Array.of(0, 0, 0, 0, wrap([3], state).length), wrap([3], state)]));
      } else {
        const bytes = Buffer.from(toBinary(AgentRunRequestSchema, request));
        expect(bytes.includes(state)).toBe(true);
        const ask = (blob: Uint8Array) => {
          run.send({
            case: "kvServerMessage",
            value: { id: 2, message: { case: "getBlobArgs", value: { blobId: blob } } },
          });
          return run.next("kvClientMessage");
        };
        expect((await ask(id)).message).toMatchObject({
          case: "getBlobResult",
          value: { blobData: Buffer.from(data) },
        });
        const missing = (await ask(new Uint8Array(32))).message;
        expect(missing.value).not.toHaveProperty("blobData.length");
        run.send({
          case: "kvServerMessage",
          value: { id: 3, message: { case: "setBlobArgs", value: { blobId: id, blobData: id } } },
        });
        expect((await run.next("kvClientMessage")).message).toMatchObject({
          case: "setBlobResult",
          value: { error: { message: "the data does not hash to the blob id" } },
        });
      }
      run.turnEnded();
      run.end();
    });
    const first = await stage.client(server);
    const conversation = await first.newConversation("demo");
    await say(first, conversation, "One");
    const second = await stage.client(server);
    const again = await second.resumeConversation();
    expect(again?.id).toBe(conversation.id);
    expect(again?.record).toMatchObject({ title: "One", model: "demo", openTurn: undefined });
    if (again === undefined) throw new Error("not found");
    expect(resultOf(await say(second, again, "Two")).outcome).toBe("completed");
  });

  it("a turn that a crash cut off is taken up again", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.send({ case: "conversationCheckpointUpdate", value: { pendingToolCalls: ["p"] } });
        return;
      }
      expect(request.action?.action.case).toBe("resumeAction");
      expect(run.headers["x-original-request-id"]).toBe(server.runs[0]?.requestId);
      run.text("went on");
      run.turnEnded();
      run.end();
    });
    const first = await stage.client(server);
    const conversation = await first.newConversation("demo");
    first.runTurn(conversation, { kind: "message", text: "Long work" });
    const second = await stage.client(server);
    await eventually(async () => (await second.resumeConversation(conversation.id))?.openTurn?.checkpointed).toBe(true);
    const again = await second.resumeConversation(conversation.id);
    if (again === undefined) throw new Error("not found");
    expect(again.openTurn).toMatchObject({ text: "Long work", checkpointed: true });
    const events = await eventsOf(second.runTurn(again, { kind: "resume" }));
    expect(resultOf(events)).toMatchObject({ outcome: "completed", text: "went on" });
    expect(again.openTurn).toBeUndefined();
  });
});
