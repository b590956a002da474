import type { ConversationId, MemberId } from "@chartroom/domain";
import { expect } from "vitest";
import { test } from "@chartroom/test/support/database.ts";
import { commit } from "./commit.ts";
import { connect } from "./connection.ts";

test("a write that comes late, behind one that was sent after it, writes nothing", async ({ url, node }) => {
  const taken = await node.store.activate("c-late" as ConversationId, "ann" as MemberId, { create: true });
  if (taken.kind !== "active") throw new Error("not taken");
  const { lease } = taken.activation;
  const sql = connect(url);
  const write = (writeSeq: number) => commit(sql, node.nodeId, lease, {}, writeSeq);
  expect(await write(2)).toMatchObject({ kind: "committed" });
  expect(await write(1)).toEqual({ kind: "fenced" });
  expect(await write(2)).toEqual({ kind: "fenced" });
  expect(await write(3)).toMatchObject({ kind: "committed" });
  await sql.end();
});
