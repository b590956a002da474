import type { ConversationId, DomainEvent } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { EventFanOut } from "./fan-out.ts";
import { eventLog } from "./log.ts";

const conversationId = "c1" as ConversationId;

describe("event log", () => {
  function lines(...events: readonly DomainEvent[]): readonly Record<string, unknown>[] {
    const written: string[] = [];
    const log = eventLog("info", { write: (line: string) => void written.push(line) });
    for (const event of events) log(event);
    return written.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  it("writes an event as one line with its fields", () => {
    const [line] = lines({ type: "conversation.fenced", conversationId });
    expect(line).toMatchObject({ msg: "conversation.fenced", conversationId: "c1" });
  });

  it("names an RPC that is not served once", () => {
    const event = { type: "rpc.unserved", path: "/a.B/C" } as const;
    expect(lines(event, event, { ...event, path: "/a.B/D" }).map((line) => line["path"])).toEqual(["/a.B/C", "/a.B/D"]);
  });

  it("leaves out what is below its level", () => {
    expect(lines({ type: "conversation.passivated", conversationId })).toEqual([]);
  });
});

describe("fan-out", () => {
  it("tells every listener, also after one that throws, until it leaves", () => {
    const fan = new EventFanOut();
    const heard: string[] = [];
    fan.add(() => {
      throw new Error("sink");
    });
    const leave = fan.add((event) => heard.push(event.type));
    fan.tell({ type: "conversation.fenced", conversationId });
    leave();
    fan.tell({ type: "conversation.fenced", conversationId });
    expect(heard).toEqual(["conversation.fenced"]);
  });
});
