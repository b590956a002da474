/** Compares by UTF-16 units: the same on every machine, whatever its locale. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A value in an attribute of the tags that frame texts for the model. */
export function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("\n", " ");
}

/** The first line of a text, shortened. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}
