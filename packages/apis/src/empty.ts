import { serverStream, unary, type Rpc } from "@chartroom/gateway/face";

/** A call that is answered with an empty message: what it reports is dropped, what it asks for is not there. */
export function answeredEmpty(method: Parameters<typeof unary>[0]): Rpc {
  return unary(method, () => ({}));
}

/** A stream that ends without a message. */
export function endedAtOnce(method: Parameters<typeof serverStream>[0]): Rpc {
  return serverStream(method, async function* () {});
}
