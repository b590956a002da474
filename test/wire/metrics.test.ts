import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { call, say, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer } from "../support/server.ts";
import { expectFinished } from "../support/wire-checks.ts";
import { readAnswer, WIRE_TRANSPORTS, WireClient } from "../support/wire-client.ts";

describe.each(WIRE_TRANSPORTS)("metrics of a whole server, over %s", (transport) => {
  test("count the Runs, calls and streams of a conversation, and name nothing of it", async ({ url }) => {
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("Read."));
    const server = await startTestServer({ databaseUrl: url, models: models.directory });
    onTestFinished(() => server.stop());
    const person = new WireClient(server.port, { transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Read it", { messageId: "marked-message" }));
    await stream.down.until(() => stream.down.execs.length === 1, "an exec");
    expect(await series(server.port)).toContain("chartroom_runs_open 1");
    // the transport is lost and the Run claimed by the same message on a new stream
    stream.lose();
    person.onExec = (exec) => readAnswer(exec, "marked-result");
    const second = person.stream();
    await second.send(person.runRequest("Read it", { messageId: "marked-message" }));
    await second.down.over();
    expectFinished(second.down);

    const found = await series(server.port);
    expect(found).toEqual(
      expect.arrayContaining([
        "chartroom_runs_open 0",
        "chartroom_runs_started_total 1",
        'chartroom_run_seconds_count{outcome="completed",code=""} 1',
        'chartroom_step_seconds_count{outcome="toolCalls"} 1',
        'chartroom_step_seconds_count{outcome="completed"} 1',
        'chartroom_tool_call_seconds_count{tool="Read",error="false"} 1',
        'chartroom_run_streams_total{event="attached"} 1',
        'chartroom_run_streams_total{event="claimed"} 1',
        'chartroom_history_relations_total{relation="new"} 1',
      ]),
    );
    expect(found.join("\n")).not.toMatch(/marked/u);
    expect(found.join("\n")).not.toContain(person.conversationId);
  });
});

async function series(port: number): Promise<readonly string[]> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^text\/plain;/u),
  ]);
  return (await response.text()).split("\n");
}
