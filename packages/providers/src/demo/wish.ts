/** What a prompt asks for, as far as the demo model understands it. */
export interface Wish {
  /** A file that it names. */
  readonly file: string | undefined;
  /** It wants something changed. */
  readonly change: boolean;
  /** Text in quotation marks that is no file name. */
  readonly quoted: string | undefined;
}

const CHANGE =
  /\b(?:add|append|insert|put|write|create|make|edit|change|modify|update|fix|improve|implement|refactor|rename|replace|remove|document|comment|demo|try|show me)\b/i;
const FILE =
  /(?:^|[\s"'`(<:])((?:\.{0,2}[/\\]|[A-Za-z]:[/\\])?(?:[\w.@-]+[/\\])*[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,9})(?=$|[\s"'`),;:!?>]|\.(?:\s|$))/g;
const BARE = /\b(?:README|LICENSE|CHANGELOG|Makefile|Dockerfile)\b/;
const QUOTED = /"([^"\n]+)"|“([^”\n]+)”|`([^`\n]+)`|(?:^|\s)'([^'\n]+)'(?=$|[\s.,;:!?])/g;

export function readWish(prompt: string): Wish {
  const files = [...prompt.matchAll(FILE)].map((found) => found[1]!).filter((name) => !name.includes("//"));
  const file = files[0] ?? BARE.exec(prompt)?.[0];
  const quotes = [...prompt.matchAll(QUOTED)].map((found) => (found[1] ?? found[2] ?? found[3] ?? found[4])!);
  return { file, change: CHANGE.test(prompt), quoted: quotes.find((text) => text !== file) };
}
