/** What a vendor says about an error, in whatever form: all of it text, empty where it says nothing. */
export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  /** It was JSON that looks like an API's error: the address is that of an API. */
  readonly known: boolean;
}

/** Reads the body of an error response, or the data of an error event. Text that is no JSON is the message itself. */
export function errorBody(text: string): ErrorBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { message: text, type: "", code: "", known: false };
  }
  return errorValue(value);
}

/**
 * The forms that are in use: `{error:{message,type,code}}`, `{type:"error",error:{…}}`, `{error:"…"}`, `{message,code}`,
 * `{detail:"…"}`, `{detail:[{msg}]}`, and a list around any of them.
 */
export function errorValue(value: unknown): ErrorBody {
  if (Array.isArray(value)) return errorValue(value[0]);
  if (typeof value === "string") return { message: value, type: "", code: "", known: true };
  if (!isObject(value)) return { message: "", type: "", code: "", known: false };
  if (isObject(value["error"])) {
    const inner = errorValue(value["error"]);
    return { ...inner, code: inner.code || text(value["code"]), known: true };
  }
  const { error, detail } = value;
  const details = Array.isArray(detail) ? detail.map((one) => (isObject(one) ? text(one["msg"]) : text(one))) : [];
  const message = text(value["message"]) || text(error) || text(detail) || text(value["msg"]) || details.join("; ");
  // a relay puts what its upstream said here
  const raw = isObject(value["metadata"]) ? text(value["metadata"]["raw"]) : "";
  return {
    message: raw === "" || message.includes(raw) ? message : `${message}: ${raw}`,
    type: text(value["type"]) || text(value["status"]),
    code: text(value["code"]),
    known: message !== "",
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}
