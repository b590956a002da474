import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished } from "../support/wire-checks.ts";
import { WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

describe.each(WIRE_TRANSPORTS)("blobs that were not acknowledged, over %s", (transport) => {
  test.for(["replaces", "follows"] as const)(
    "are written again to the downlink that %s the one of the same request id, and the final checkpoint comes before turn_ended",
    async (how, { node }) => {
      const server = await startWireServer(node.store, scriptedModels(say("Hello.")));
      const person = server.client({ transport });
      person.acknowledges = false;
      const request = person.runRequest("Hi");
      const first = person.stream();
      await first.send(request);
      await first.down.sees("kvServerMessage.setBlobArgs");
      const { down } = first;
      // what the first downlink was asked is never answered
      person.acknowledges = true;
      if (how === "follows") {
        first.lose();
        await down.over();
      }
      const second = await first.reopen(request);
      await second.over();
      expectFinished(second);
      expect(second.text).toBe("Hello.");
      expect(second.kinds).toContain("kvServerMessage.setBlobArgs");
      if (how === "replaces") expectFailed(down, "aborted");
      await server.stop();
    },
  );

  test("are written again to each of two downlinks that replace one another while the Run ends", async ({ node }) => {
    const server = await startWireServer(node.store, scriptedModels(say("Hello.")));
    const person = server.client({ transport });
    person.acknowledges = false;
    const request = person.runRequest("Hi");
    const stream = person.stream();
    await stream.send(request);
    await stream.down.sees("kvServerMessage.setBlobArgs");
    const second = await stream.reopen(request);
    await second.sees("kvServerMessage.setBlobArgs");
    person.acknowledges = true;
    const third = await stream.reopen(request);
    await third.over();
    expectFinished(third);
    await second.over();
    expectFailed(second, "aborted");
    await server.stop();
  });
});
