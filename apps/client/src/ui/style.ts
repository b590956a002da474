import { styleText } from "node:util";

type Paint = (text: string) => string;

/** How things look; without colours every one of these gives its text back as it is. */
export interface Styles {
  readonly dim: Paint;
  readonly bold: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

export function stylesFor(colours: boolean): Styles {
  const paint = (format: Parameters<typeof styleText>[0]): Paint =>
    colours ? (text) => (text === "" ? "" : styleText(format, text, { validateStream: false })) : (text) => text;
  return {
    dim: paint("dim"),
    bold: paint("bold"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  };
}

/** Whether a stream is to be coloured: a terminal, and nobody has said no. */
export function wantsColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return false;
  return stream.isTTY === true && env["TERM"] !== "dumb";
}
