const MAX_MESSAGE = 500;

/** What never leaves an adapter: keys, addresses, accounts. Each shape with what is shown instead of it. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:https?|wss?):\/\/[^\s"'<>)\]}]+/gi, "[link]"],
  [/\bBearer\s+[^\s"',;]+/gi, "Bearer [key]"],
  [/\b(?:sk|pk|rk|gsk|xai|key|api|nvapi|hf|r8)[-_][A-Za-z0-9*_.-]{6,}/g, "[key]"],
  [/\bAIza[A-Za-z0-9_*-]{10,}/g, "[key]"],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, "[key]"],
  [/\b(?:org|proj|acct)[-_][A-Za-z0-9]{6,}/g, "[account]"],
];

/** A function that takes the given secrets (a key, a host name) and everything that looks like one out of a message. */
export function cleaner(secrets: readonly string[]): (message: string) => string {
  // the longest first: a secret may hold another one
  const exact = secrets.filter((secret) => secret.length >= 6).toSorted((a, b) => b.length - a.length);
  return (message) => {
    let text = message.slice(0, 8 * MAX_MESSAGE);
    for (const secret of exact) text = text.replaceAll(secret, "[hidden]");
    for (const [shape, shown] of SHAPES) text = text.replace(shape, shown);
    text = text
      .replace(/<(?:style|script|title)[^>]*>[^<]*<\/[a-z]+>|<[^<>]*>/gi, " ")
      // eslint-disable-next-line no-control-regex -- control characters have no place in a message
      .replace(/[\u0000-\u001f\u007f\s]+/g, " ")
      .trim();
    return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
  };
}
