import { text } from "node:stream/consumers";
import type { ReadStream, WriteStream } from "node:tty";
import { EXIT } from "./cli/exit.ts";
import { helpText } from "./cli/help.ts";
import { Interactive } from "./cli/interactive.ts";
import { oneShot } from "./cli/oneshot.ts";
import { type ChatOptions, parseOptions } from "./cli/options.ts";
import { onInterrupt } from "./cli/signals.ts";
import { start, type Started } from "./cli/start.ts";
import { absentUser, type User, yesUser } from "./execution/consent.ts";
import type { TurnEvent } from "./session/events.ts";
import { PlainPaper } from "./ui/plain-paper.ts";
import { stylesFor, wantsColours } from "./ui/style.ts";
import { TerminalUser } from "./ui/terminal-user.ts";
import { Terminal } from "./ui/terminal.ts";
import { oneLine } from "./ui/text.ts";
import { Transcript } from "./ui/transcript.ts";

const NOBODY = "Nobody is there to ask; start with --yes to allow it.";

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [word, ...rest] = argv;
  const parsed = parseOptions(word === "chat" ? rest : argv, process.env, userFolder());
  if (parsed.kind === "help") {
    console.log(helpText());
    return EXIT.ok;
  }
  if (parsed.kind === "usage") return complain(parsed.errors);
  // whoever reads the output may go away first
  process.stdout.on("error", () => process.exit(EXIT.failed));
  // nothing else keeps the program alive between two attempts
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    return await chat(parsed.options);
  } finally {
    clearInterval(alive);
  }
}

async function chat(options: ChatOptions): Promise<number> {
  const { stdin, stdout } = process;
  const asks = options.prompt === undefined && stdin.isTTY && stdout.isTTY;
  const prompt = options.prompt === undefined || options.prompt === "-" ? undefined : options.prompt;
  if (asks) return interactive(options, stdin, stdout);
  return script(
    options,
    prompt ?? (options.resume === undefined || options.prompt === "-" ? (await text(stdin)).trim() : ""),
  );
}

async function interactive(options: ChatOptions, input: ReadStream, output: WriteStream): Promise<number> {
  const styles = stylesFor(wantsColours(output));
  const terminal = new Terminal(input, output, styles);
  const user = new TerminalUser(terminal, styles);
  try {
    terminal.status("starting");
    const started = await start(options, options.yes ? yesUser : user, undefined);
    terminal.status(undefined);
    if (started.kind !== "started") {
      terminal.close();
      return refused(started);
    }
    const { client, conversation, resumed } = started;
    // whatever ends this program, the commands that it started end with it
    const stop = () => {
      client.close();
      terminal.close();
      process.exit(EXIT.cancelled);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, stop);
    try {
      return await new Interactive(client, conversation, terminal, styles, user).run(resumed);
    } finally {
      client.close();
    }
  } finally {
    terminal.close();
  }
}

/** One message without a terminal, or with one that is only asked for approvals. */
async function script(options: ChatOptions, prompt: string): Promise<number> {
  const { stdin, stdout } = process;
  const styles = stylesFor(wantsColours(stdout));
  const asks = !options.yes && !options.json && stdin.isTTY && stdout.isTTY;
  const terminal = asks ? new Terminal(stdin, stdout, styles) : undefined;
  const terminalUser = terminal === undefined ? undefined : new TerminalUser(terminal, styles);
  const user: User = options.yes ? yesUser : (terminalUser ?? absentUser);
  try {
    const started = await start(options, user, terminal === undefined ? NOBODY : undefined);
    if (started.kind !== "started") {
      terminal?.close();
      return refused(started);
    }
    const { client, conversation } = started;
    if (prompt === "" && conversation.openTurn === undefined) {
      client.close();
      terminal?.close();
      return complain([
        options.resume === undefined
          ? "there is nothing to say"
          : "there is no unfinished turn; --prompt says something new",
      ]);
    }
    for (const { server, reason } of client.mcpFailures)
      console.error(oneLine(`MCP server ${server} did not start: ${reason}`));
    const transcript = new Transcript(terminal ?? new PlainPaper(stdout), styles, client.folder);
    if (terminalUser !== undefined) terminalUser.transcript = transcript;
    const json = (event: TurnEvent) => stdout.write(`${JSON.stringify(event)}\n`);
    const tell = options.json ? json : (event: TurnEvent) => transcript.event(event);
    const wish = prompt === "" ? ({ kind: "resume" } as const) : ({ kind: "message", text: prompt } as const);
    const interrupts = terminal === undefined ? onInterrupt : interruptsOf(terminal);
    try {
      return await oneShot({ client, conversation, wish, tell, onInterrupt: interrupts });
    } finally {
      client.close();
    }
  } finally {
    terminal?.close();
  }
}

function interruptsOf(terminal: Terminal): (handler: () => void) => () => void {
  return (interrupt) => {
    terminal.listen({ line: () => undefined, interrupt, end: interrupt });
    return () => terminal.listen(undefined);
  };
}

function refused(started: Exclude<Started, { kind: "started" }>): number {
  if (started.kind === "usage") return complain(started.errors);
  const { title, detail, kind } = started.failure;
  console.error(oneLine(`${title}${detail === "" ? "" : `: ${detail}`}`));
  return kind === "unreachable" ? EXIT.unreachable : EXIT.failed;
}

function complain(errors: readonly string[]): number {
  for (const error of errors) console.error(`chat: ${error}`);
  console.error("chat: --help shows the options");
  return EXIT.usage;
}

/** Where the user stands: npm starts scripts in the workspace's root and says elsewhere where it was called. */
function userFolder(): string {
  const { npm_lifecycle_event: event, INIT_CWD: called } = process.env;
  return called !== undefined && (event === "chat" || event === "chartroom") ? called : process.cwd();
}
