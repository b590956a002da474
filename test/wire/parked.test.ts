import { agent, blobId, blobIdBytes } from "@chartroom/protocol";
import { defaultSettings } from "@chartroom/conversation";
import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { ManualClock } from "../support/gateway/manual-clock.ts";
import { say, type ScriptedModels, scriptedModels } from "../support/scripted-provider.ts";
import { expectFinished, runStatuses } from "../support/wire-checks.ts";
import { type ClientInit, unique, WIRE_TRANSPORTS, type WireClient, type WireStream } from "../support/wire-client.ts";
import { startWireServer, type WireServer } from "../support/wire-server.ts";
import type { ConversationStore } from "@chartroom/domain";

const { clientReplyMs, prepareMs, parkedRunTtlMs, passivateParkedMs, sweepMs } = defaultSettings;
const ASKS = "kvServerMessage.getBlobArgs";

interface Held {
  readonly clock: ManualClock;
  readonly server: WireServer;
  readonly person: WireClient;
  readonly stream: WireStream;
  readonly request: ClientInit;
  /** What only the client has. */
  readonly text: string;
  readonly picture: Uint8Array;
}

/** A Run that is prepared and asks its client for a text and a picture, which it does not give. */
async function asking(
  store: ConversationStore,
  models: ScriptedModels,
  transport: (typeof WIRE_TRANSPORTS)[number],
): Promise<Held> {
  const clock = new ManualClock(Date.now());
  const server = await startWireServer(store, models, { clock });
  onTestFinished(() => server.stop());
  const person = server.client({ transport });
  person.gives = false;
  const text = unique("a text that only the client has");
  const words = new TextEncoder().encode(text);
  const picture = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, ...words]);
  for (const data of [words, picture]) person.blobs.set(blobId(data), data);
  const image = {
    mimeType: "image/png",
    dataOrBlobId: { case: "blobId" as const, value: blobIdBytes(blobId(picture)) },
  };
  const request = person.action({
    case: "userMessageAction",
    value: {
      userMessage: {
        ...{ text: "", textBlobId: blobIdBytes(blobId(words)), messageId: unique("message") },
        ...{ mode: agent.AgentMode.AGENT, selectedContext: { selectedImages: [image] } },
      },
      requestContext: {},
    },
  });
  // over RunSSE the questions wait for the downlink first
  const stream = person.stream({ downlink: transport === "run" });
  await stream.send(request);
  if (transport === "sse") stream.open();
  await stream.down.sees(ASKS, 2);
  return { clock, server, person, stream, request, text, picture };
}

const statuses = ({ person }: Held, store: ConversationStore): ReturnType<typeof runStatuses> =>
  runStatuses(store, person.conversationId);

/** Passes time in steps of a sweep until the conversation has left memory. */
async function leftMemory({ clock, server }: Held): Promise<void> {
  clock.advance(passivateParkedMs);
  await expect
    .poll(() => {
      clock.advance(sweepMs);
      return server.service.registry.size;
    })
    .toBe(0);
}

describe.each(WIRE_TRANSPORTS)("a Run that is prepared and asks its client, over %s", (transport) => {
  test.for(["in memory", "out of memory"] as const)(
    "waits %s for one that lost its transport; what it asked is asked again of the one that comes back (invariant 4)",
    async (where, { node }) => {
      const models = scriptedModels(say("Read."));
      const held = await asking(node.store, models, transport);
      const { clock, server, person, stream, request, text, picture } = held;
      stream.lose();
      await server.met("run.parked");
      if (where === "out of memory") await leftMemory(held);
      else clock.advance(prepareMs + 1);
      expect(await statuses(held, node.store)).toEqual(["running"]);
      expect(models.requests).toEqual([]);

      person.gives = true;
      const back = person.stream({ headers: { "x-original-request-id": stream.requestId } });
      await back.send(request);
      await back.down.over();
      expectFinished(back.down);
      expect(back.down.kinds.filter((kind) => kind === ASKS)).toHaveLength(2);
      const [prompt, ...more] = models.requests.map(({ messages }) => JSON.stringify(messages));
      expect(prompt).toContain(text);
      expect(prompt).toContain(Buffer.from(picture).toString("base64"));
      expect(more).toEqual([]);
      expect(await statuses(held, node.store)).toEqual(["completed"]);
    },
  );

  test("and whose client claims it from half-open transports, gives each its whole bound", async ({ node }) => {
    const held = await asking(node.store, scriptedModels(say("Read.")), transport);
    const { clock, person, request } = held;
    let last = held.stream;
    for (const _claim of ["second", "third"]) {
      clock.advance(clientReplyMs - 1_000);
      const next = person.stream({ headers: { "x-original-request-id": held.stream.requestId } });
      await next.send(request);
      await last.down.over();
      expect(last.down.end).toMatchObject({ kind: "error", code: "aborted" });
      await next.down.sees(ASKS, 2);
      last = next;
    }
    clock.advance(clientReplyMs - 1_000);
    expect(3 * (clientReplyMs - 1_000)).toBeGreaterThan(prepareMs);
    person.gives = true;
    const back = person.stream({ headers: { "x-original-request-id": held.stream.requestId } });
    await back.send(request);
    await back.down.over();
    expectFinished(back.down);
    expect(await statuses(held, node.store)).toEqual(["completed"]);
  });

  test("ends by its park deadline when nobody comes back", async ({ node }) => {
    const held = await asking(node.store, scriptedModels(say("never")), transport);
    held.stream.lose();
    await held.server.met("run.parked");
    held.clock.advance(parkedRunTtlMs);
    await expect.poll(() => statuses(held, node.store)).toEqual(["failed"]);
    await expect.poll(() => held.server.service.registry.all().map(({ phase }) => phase)).toEqual(["idle"]);
  });
});
