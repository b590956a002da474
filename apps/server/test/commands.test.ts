import fs from "node:fs";
import path from "node:path";
import { connect } from "@chartroom/store";
import { test as base } from "@chartroom/test/support/database.ts";
import { openRoom } from "@chartroom/test/support/room.ts";
import { call, say, scriptedModels } from "@chartroom/test/support/scripted-provider.ts";
import { describe, expect, vi } from "vitest";
import { folderWith } from "./config-folder.ts";
import { runHere } from "./run-here.ts";

/** A conversation with a tool call, at rest in the file's database. */
const test = base.extend<{ room: string }>({
  room: [
    async ({ node }, use) => {
      const models = scriptedModels(
        call({ name: "NoSuchTool", args: { path: "marked-argument" } }),
        say("marked-answer"),
      );
      const person = openRoom(node.store, models).client();
      const stream = await person.stream().attach();
      await stream.send(person.runRequest("marked-prompt"));
      await stream.downlink.ended();
      await vi.waitFor(async () => {
        const view = await node.store.inspect(person.conversationId as never);
        expect(view?.chart?.value).toBe("idle");
      });
      await use(person.conversationId);
    },
    { scope: "file" },
  ],
});

const asJson = (text: string): unknown => JSON.parse(text) as unknown;

describe("show", () => {
  test("says of each model call what broke its prefix, where, and how many tokens that cost", async ({ node, url }) => {
    const person = openRoom(node.store, scriptedModels(say("One."), say("Two."))).client();
    for (const text of ["marked one", "marked two"]) {
      // without its state: back to the beginning
      person.state = new Uint8Array();
      const stream = await person.stream().attach();
      await stream.send(person.runRequest(text));
      await stream.downlink.ended();
    }
    await vi.waitFor(async () => {
      const view = await node.store.inspect(person.conversationId as never);
      expect(view?.modelCalls).toHaveLength(2);
    });
    const { stdout } = await runHere(["show", person.conversationId], { DATABASE_URL: url });
    expect(stdout).toMatch(/ [12]\/3 +branch +(?:user-message|runtime):\S+ +[1-9]\d*$/mu);
    expect(stdout).toMatch(/ yes +rewind$/mu);
    expect(stdout).not.toContain("marked");
  });

  test("tells Runs, timeline, state and chart, and no content", async ({ room, url }) => {
    const { code, stdout, stderr } = await runHere(["show", room], { DATABASE_URL: url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^Conversation  ${room}\\nMember        ada\\nState         idle\\n`, "u"));
    expect(stdout).toMatch(/^\S+ +turn +completed +demo-model +\S+Z +\d+ ms +yes +new$/mu);
    // step, model, outcome, tokens in, from the cache, out, messages in common with the call before
    expect(stdout).toMatch(/Z +1 +demo-model +toolCalls +\d+ ms +unknown +unknown +unknown$/mu);
    expect(stdout).toMatch(/Z +2 +demo-model +completed +\d+ ms +100 +unknown +20 +3\/3$/mu);
    expect(stdout).toMatch(/Z {2}model\.completed +modeling\.streaming → checkpointing\.commit$/mu);
    expect(stdout).toMatch(/Z {2}step\.recorded .* open=1 /mu);
    expect(stdout).toMatch(/^▶ .*idle$/mu);
    expect(stdout).not.toContain("marked");
  });

  test("the same as data", async ({ room, url }) => {
    const { code, stdout } = await runHere(["show", room, "--json"], { DATABASE_URL: url });
    expect(code).toBe(0);
    expect(asJson(stdout)).toMatchObject({
      conversationId: room,
      member: "ada",
      state: "idle",
      chart: { machine: "conversation", value: "idle" },
      parent: null,
      runs: [
        {
          ...{ kind: "turn", status: "completed", failureCode: null, delivered: true },
          trace: { "history.relation": "new" },
        },
      ],
      modelCalls: [
        { step: 1, purpose: "step", outcome: "toolCalls", prefix: null },
        {
          ...{ step: 2, purpose: "step", outcome: "completed", usage: { inputTokens: 100, outputTokens: 20 } },
          prefix: { common: 3, total: 3, brokenBy: null, message: null, tokensLost: 0 },
        },
      ],
    });
    const { timeline } = asJson(stdout) as { timeline: { seq: number; event: string; to: string }[] };
    expect(timeline.map(({ seq }) => seq)).toEqual(timeline.map((_, at) => at + 1));
    expect(timeline.at(-1)).toMatchObject({ event: "run.closed", to: "idle" });
    expect(stdout).not.toContain("marked");
  });

  test("draws the chart with the current state, alone or into a file of the caller's folder", async ({ room, url }) => {
    const alone = await runHere(["show", room, "--chart", "svg"], { DATABASE_URL: url });
    expect(alone.code).toBe(0);
    expect(alone.stdout).toMatch(/^<svg .*<\/svg>\s*$/su);
    expect(alone.stdout).toMatch(/<g id="state-idle"><title>[^<]*<\/title><rect class="[^"]*\bactive\b/u);
    const folder = folderWith({});
    const written = await runHere(["show", room, "--chart=svg", "--out", "chart.svg"], {
      DATABASE_URL: url,
      INIT_CWD: folder,
    });
    const file = path.join(folder, "chart.svg");
    expect(written).toEqual({ code: 0, stderr: "", stdout: `The chart is in ${file}.\n` });
    expect(fs.readFileSync(file, "utf8").trim()).toBe(alone.stdout.trim());
    const none = await runHere(["show", room, "--chart", "none"], { DATABASE_URL: url });
    expect(none.stdout).not.toContain("▶");
  });
});

describe("replay", () => {
  test("reaches the same states, or ends with 1 and the first difference", async ({ room, url }) => {
    const good = await runHere(["replay", room], { DATABASE_URL: url });
    expect(good).toMatchObject({ code: 0, stderr: "" });
    expect(good.stdout).toMatch(/^\d+ events of 1 activations reach the recorded states; the last one is idle\.\n$/u);
    expect(asJson((await runHere(["replay", room, "--json"], { DATABASE_URL: url })).stdout)).toMatchObject({
      ok: true,
      activations: 1,
      state: "idle",
    });

    const sql = connect(url);
    const set = (to: string) => sql`
      update lifecycle_event set to_state = ${to}::text::json
      where conversation_id = ${room} and event->>'type' = 'model.completed'`;
    await set('"idle"');
    const bad = await runHere(["replay", room], { DATABASE_URL: url });
    const told = await runHere(["replay", room, "--json"], { DATABASE_URL: url });
    await set('{"checkpointing":"commit"}');
    await sql.end();
    expect(bad).toMatchObject({ code: 1, stderr: "" });
    expect(bad.stdout).toMatch(
      /another way: the event leads to another state\.\n.*model\.completed.*\n.*idle\n.*checkpointing\.commit\n$/u,
    );
    expect(told.code).toBe(1);
    expect(asJson(told.stdout)).toMatchObject({
      ok: false,
      event: "model.completed",
      recorded: "idle",
      reached: "checkpointing.commit",
    });
  });
});

describe("doctor", () => {
  test("finds nothing in a good history, and tells what is wrong with another and how it is healed", async ({
    room,
    url,
  }) => {
    const good = await runHere(["doctor", room], { DATABASE_URL: url });
    expect(good).toEqual({ code: 0, stderr: "", stdout: "The history is in order.\n" });

    // the vendor of the model that was asked last refuses an answer without reasoning
    const config = `
      providers:
        - { kind: openai, id: strict, baseUrl: "http://127.0.0.1:9", auth: none, models: [{ id: demo-model }], options: { reasoningReplay: required } }`;
    const strict = await runHere(["doctor", room, "--json"], {
      DATABASE_URL: url,
      CHARTROOM_CONFIG: path.join(folderWith({ "strict.yaml": config }), "strict.yaml"),
    });
    expect(strict.stderr).toBe("");
    expect(asJson(strict.stdout)).toMatchObject({
      findings: [{ kind: "missing-thinking" }, { kind: "missing-thinking" }],
    });

    const sql = connect(url);
    await sql`
      update message set content = jsonb_set(content::jsonb, '{record,calls,0,arguments}', '"[1, marked"')::json
      where conversation_id = ${room} and jsonb_array_length(content::jsonb->'record'->'calls') > 0`;
    const bad = await runHere(["doctor", room], { DATABASE_URL: url });
    const told = await runHere(["doctor", room, "--json"], { DATABASE_URL: url });
    expect(bad).toMatchObject({ code: 1, stderr: "" });
    expect(bad.stdout).toMatch(/^invalid-arguments +\S+ +\S+ +Arguments that are not a JSON object are wrapped/mu);
    expect(bad.stdout).not.toContain("marked");
    expect(told.code).toBe(1);
    expect(asJson(told.stdout)).toMatchObject({
      conversationId: room,
      healthy: false,
      findings: [{ kind: "invalid-arguments" }],
    });

    // a row that the chain lists is not there
    await sql`delete from message where conversation_id = ${room} and role = 'user'`;
    await sql.end();
    const broken = await runHere(["doctor", room, "--json"], { DATABASE_URL: url });
    expect(broken.code).toBe(1);
    expect(asJson(broken.stdout)).toMatchObject({ findings: [{ kind: "broken-chain", message: null }] });
  });
});

describe("the command line", () => {
  test("ends with 4 for a conversation that is not there", async ({ url }) => {
    for (const command of ["show", "replay", "doctor"])
      expect(await runHere([command, "no-such-one"], { DATABASE_URL: url })).toEqual({
        code: 4,
        stdout: "",
        stderr: 'chartroom: there is no conversation "no-such-one" in the configured database\n',
      });
    // where no server ever ran, nothing is made by looking
    const data = path.join(folderWith({}), "data");
    expect(await runHere(["show", "../etc"], { CHARTROOM_DATA: data })).toMatchObject({ code: 4, stdout: "" });
    expect(await runHere(["show", "abc"], { CHARTROOM_DATA: data })).toMatchObject({ code: 4, stdout: "" });
    expect(fs.existsSync(data)).toBe(false);
  });

  test.each([
    [["show"], "Missing required positional argument"],
    [["show", "a", "b"], "there is no b here"],
    [["show", "a", "--jsn"], "there is no --jsn here"],
    [["show", "a", "--chart", "png"], "Expected one of"],
    [["show", "a", "--out", "x.svg"], "--out goes with --chart svg"],
    [["start", "--port", "1"], "there is no --port here"],
    [["strat"], 'There is no command "strat"'],
  ])("%j ends with 2", async (args, told) => {
    const run = await runHere(args);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain(told);
  });

  test("tells how it is used", async () => {
    const help = await runHere(["--help"]);
    expect(help.code).toBe(0);
    for (const command of ["start", "migrate", "models", "show", "replay", "doctor", "schema", "chat"]) {
      expect(help.stdout).toMatch(new RegExp(`^ +${command} `, "mu"));
      if (command === "chat") continue;
      const one = await runHere([command, "--help"]);
      expect(one).toMatchObject({ code: 0, stderr: "" });
      expect(one.stdout).toContain(`USAGE chartroom ${command}`);
    }
  });

  test("lists the models, and makes a schema that is there", async ({ url }) => {
    const models = await runHere(["models", "--json"], { OPENAI_API_KEY: "k" });
    expect(models.code).toBe(0);
    expect((asJson(models.stdout) as { id: string; isDefault: boolean }[]).at(-1)).toMatchObject({ id: "demo" });
    expect((await runHere(["models"])).stdout).toMatch(/^demo +Demo \(scripted\) +demo +\d+ tokens +default$/mu);
    expect(await runHere(["migrate"], { DATABASE_URL: url })).toEqual({
      code: 0,
      stderr: "",
      stdout: "The schema is up to date in the configured database.\n",
    });
  });

  test("says that a database has no schema", async ({ url }) => {
    const sql = connect(url);
    await sql`create database bare_for_commands`;
    const bare = new URL(url);
    bare.pathname = "/bare_for_commands";
    const run = await runHere(["show", "abc"], { DATABASE_URL: bare.href });
    await sql`drop database bare_for_commands`;
    await sql.end();
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("npm run chartroom -- migrate");
  });
});
