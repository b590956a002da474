/** How a stream is framed and ended: Connect, gRPC-Web or gRPC (wire section 2.4). */
export type Dialect = "connect" | "grpcWeb" | "grpc";

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ["application/connect+proto", "connect"],
  ["application/grpc-web", "grpcWeb"],
  ["application/grpc-web+proto", "grpcWeb"],
  ["application/grpc", "grpc"],
  ["application/grpc+proto", "grpc"],
]);

/** The dialect of a stream's content type; `undefined`: not one that is served. gRPC needs HTTP/2 for its trailers. */
export function dialectOf(contentType: string | undefined, http2: boolean): Dialect | undefined {
  const dialect = DIALECTS.get(mediaType(contentType));
  return dialect === "grpc" && !http2 ? undefined : dialect;
}

/** The media type in lower case, without parameters. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

/** Whether a frame or body encoding that a client names is one that is understood. */
export function knownEncoding(encoding: string | undefined): boolean {
  return encoding === undefined || ["", "identity", "gzip"].includes(encoding.trim().toLowerCase());
}

/** The header in which a dialect names the compression of its frames. */
export const FRAME_ENCODING_HEADER: Readonly<Record<Dialect, string>> = {
  connect: "connect-content-encoding",
  grpcWeb: "grpc-encoding",
  grpc: "grpc-encoding",
};
