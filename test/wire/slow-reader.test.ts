import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { type Answer, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

const MIB = 1024 * 1024;
const PIECE = "0123456789abcdef".repeat(256);
const PIECES = (20 * MIB) / PIECE.length;

/** 20 MiB of text, as fast as it is taken, then a pause. */
function torrent(gate: Promise<void>, poured: () => void): Answer {
  return async function* () {
    for (let sent = 0; sent < PIECES; sent++) {
      yield [{ type: "text", text: PIECE }];
      // as a network would: the other streams of this process have their turn
      if (sent % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    poured();
    await gate;
    yield [{ type: "finished", reason: "stop", raw: "stop" }];
  };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function held(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe.each(WIRE_TRANSPORTS)("a reader over %s", (transport) => {
  test("that stops reading 20 MiB costs bounded memory and nobody else; it loses its transport, never the Run (TR-10)", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const poured = Promise.withResolvers<void>();
    const models = scriptedModels(torrent(gate.promise, poured.resolve));
    const server = await startWireServer(node.store, models, {
      ring: { entries: 4096, bytes: 4 * MIB },
      settings: { flushPartialMs: 60_000 },
    });
    const slow = server.client({ transport });
    const request = slow.runRequest("Tell me all");
    const stream = slow.stream();
    const before = held();
    await stream.send(request);
    await stream.down.until(() => stream.down.text.length > 0, "the first text");
    stream.down.pause();

    // meanwhile somebody else has a turn
    models.answer(say("Quick."));
    const quick = server.client({ transport });
    const other = quick.stream();
    const begun = performance.now();
    await other.send(quick.runRequest("Hello"));
    await other.down.over();
    expectFinished(other.down);
    expect(performance.now() - begun).toBeLessThan(5_000);

    await poured.promise;
    // the text itself, the ring, and what sockets hold of it
    expect((held() - before) / MIB).toBeLessThan(20 + 4 + 16);
    gate.resolve();
    await expect.poll(() => runStatuses(node.store, slow.conversationId), { timeout: 25_000 }).toEqual(["completed"]);

    stream.down.resume();
    await stream.down.over();
    expectFailed(stream.down, "aborted");
    expect(stream.down.bytes).toBeLessThan(16 * MIB);

    const back = slow.stream();
    await back.send(request);
    await back.down.over();
    expectFinished(back.down);
    expect(back.down.text.length).toBe(20 * MIB);
    await server.stop();
  });
});
