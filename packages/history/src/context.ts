import type { CanonicalMessage, ContentPart } from "@chartroom/domain";

/** One section of the request context, rendered: its text begins with `<name>` on a line of its own and ends with `</name>`. */
export interface ContextSection {
  readonly name: string;
  readonly text: string;
}

const FIRST = "What the user's client says about the machine and the workspace.";
const CHANGED = "Changed since then. Each section below replaces the earlier section of the same name.";

/**
 * What must be written so that the newest context on a branch is `now`: every section the first time, later those that
 * differ; `undefined` when nothing does. A section that is gone is written as empty, once.
 */
export function contextParts(
  known: ReadonlyMap<string, string>,
  now: readonly ContextSection[],
): readonly ContentPart[] | undefined {
  const changed = now.filter((section) => known.get(section.name) !== section.text);
  const names = new Set(now.map((section) => section.name));
  const gone = [...known]
    .filter(([name, text]) => !names.has(name) && text !== emptySection(name))
    .map(([name]): ContextSection => ({ name, text: emptySection(name) }));
  const sections = [...changed, ...gone];
  if (sections.length === 0) return undefined;
  const intro = known.size === 0 ? FIRST : CHANGED;
  return [intro, ...sections.map((section) => section.text)].map((text) => ({ type: "text", text }));
}

export function emptySection(name: string): string {
  return `<${name}>\n(none)\n</${name}>`;
}

/** The sections in a stored request-context message. */
export function sectionsOf(message: CanonicalMessage): readonly ContextSection[] {
  if (message.content.kind !== "parts") return [];
  return message.content.parts.flatMap((part) => {
    const name = part.type === "text" ? /^<(?<name>[a-z_]+)>\n/u.exec(part.text)?.groups?.["name"] : undefined;
    return part.type === "text" && name !== undefined ? [{ name, text: part.text }] : [];
  });
}
