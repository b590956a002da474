import { agent } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { commitGate } from "../support/commit-gate.ts";
import { test } from "../support/database.ts";
import { puppetModels } from "../support/puppet-models.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { eventually } from "../support/turn.ts";
import { cancelAction, type Stage, stageIn } from "./table-stage.ts";

const kinds = (stream: RoomStream): readonly string[] => stream.downlink.kinds;
const UPDATE = "conversationCheckpointUpdate";
const TURN_ENDED = "interactionUpdate.turnEnded";

/** The outcome of the Run waits at the store. */
async function holdOutcome(stage: Stage, end: () => void): Promise<void> {
  stage.gated.hold((barrier) => JSON.stringify(barrier.chart?.value) === JSON.stringify({ finalizing: "commit" }));
  end();
  await eventually("the outcome is being committed", async () => {
    await stage.quiet();
    return stage.gated.held === 1;
  });
}

/** The client asks again for the Run of its message, on a new stream. */
async function comeBack(stage: Stage): Promise<RoomStream> {
  const stream = await stage.open().attach();
  void stream.send(stage.person.runRequest("alpha", { messageId: "m-alpha", runId: "w-1" }));
  await stage.quiet();
  return stream;
}

describe("the end of a Run", () => {
  test("a transport that comes after the checkpoint was passed over gets it before turn_ended (LC-15)", async ({
    node,
  }) => {
    const stage = await stageIn("modeling", node);
    stage.stream.downlink.lose();
    await holdOutcome(stage, () => stage.model?.finish("answer"));
    const back = await comeBack(stage);
    expect(kinds(back)).not.toContain(UPDATE);
    await stage.finish();
    expect(kinds(back).slice(-2)).toEqual([UPDATE, TURN_ENDED]);
    expect(back.downlink.terminals).toEqual([{ kind: "completed" }]);
  });

  test("one that has the checkpoint already is not given it twice", async ({ node }) => {
    const stage = await stageIn("modeling", node);
    stage.acknowledges = true;
    await holdOutcome(stage, () => stage.model?.finish("answer"));
    await stage.finish();
    expect(kinds(stage.stream).filter((kind) => kind === UPDATE)).toHaveLength(1);
    expect(kinds(stage.stream).slice(-2)).toEqual([UPDATE, TURN_ENDED]);
  });

  test("without its lease a node says nothing of an end that it has committed", async ({ node }) => {
    let holds = true;
    const gated = commitGate(node.store);
    const models = puppetModels();
    const person = openRoom(gated.store, models, { holdsLease: () => holds }).client();
    const stream = await person.stream().attach();
    void stream.send(person.runRequest("alpha"));
    await eventually("the model is called", () => models.calls.length === 1);
    gated.hold((barrier) => JSON.stringify(barrier.chart?.value) === JSON.stringify({ finalizing: "commit" }));
    stream.downlink.onMessage = ({ message }) => {
      if (message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs")
        void stream.send({
          message: {
            case: "kvClientMessage",
            value: { id: message.value.id, message: { case: "setBlobResult", value: {} } },
          },
        });
    };
    // of a Run that is cancelled the end alone is told
    void stream.send(cancelAction);
    await eventually("the outcome is being committed", async () => {
      await gated.quiet();
      return gated.held === 1;
    });
    holds = false;
    gated.release();
    await gated.quiet();
    expect(stream.downlink).toMatchObject({ dropped: true, terminals: [] });
    expect(kinds(stream)).not.toContain(TURN_ENDED);
  });

  test("what comes in while a Run is cancelled opens the next one, which is not on the stream of the one that ended", async ({
    node,
  }) => {
    const stage = await stageIn("modeling", node);
    stage.acknowledges = true;
    await holdOutcome(stage, () => void stage.stream.send(cancelAction));
    void stage.stream.send(userMessage("beta"));
    await stage.quiet();
    await stage.finish();
    expect(stage.stream.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "CANCELLED" } }]);
    expect(kinds(stage.stream)).not.toContain(TURN_ENDED);
    const [first, second] = await stage.runs();
    expect([first?.status, second?.status, second?.generation]).toEqual(["cancelled", "completed", 0]);
    expect(stage.runsWith("beta")).toEqual([second?.runId]);
  });

  test("an end that waits in front of a full transport counts as unseen", async ({ node }) => {
    const stage = await stageIn("modeling", node);
    stage.acknowledges = true;
    await holdOutcome(stage, () => stage.model?.finish("answer"));
    stage.stream.downlink.write = () => false;
    await stage.finish();
    expect(stage.stream.downlink.terminals).toEqual([]);
    const [first] = await stage.runs();
    expect([first?.status, first?.delivered]).toEqual(["completed", false]);
  });

  test("a follow-up whose stream goes while the outcome is committed runs without it", async ({ node }) => {
    const stage = await stageIn("checkpointing", node);
    void stage.stream.send(userMessage("beta"));
    await stage.quiet();
    stage.acknowledges = true;
    await holdOutcome(stage, () => undefined);
    stage.stream.downlink.lose();
    await stage.finish();
    const [first, second] = await stage.runs();
    expect([first?.status, first?.delivered, second?.status]).toEqual(["completed", false, "completed"]);
    expect(stage.runsWith("beta")).toEqual([second?.runId]);
    expect(stage.room.events.filter(({ type }) => type === "chart.error")).toEqual([]);
  });
});

const userMessage = (text: string) =>
  ({
    message: {
      case: "conversationAction",
      value: {
        action: {
          case: "userMessageAction",
          value: { userMessage: { text, messageId: `m-${text}`, mode: agent.AgentMode.AGENT } },
        },
      },
    },
  }) as const;
