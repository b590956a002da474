import http from "node:http";
import type { AddressInfo } from "node:net";

// The floor: a raw pass-through of Node. It reads nothing and changes nothing.

const upstream = Number(process.env["UPSTREAM_PORT"]);
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 1024 });
const server = http.createServer((request, response) => {
  const up = http.request(
    {
      host: "127.0.0.1",
      port: upstream,
      path: request.url,
      method: request.method,
      headers: { ...request.headers, host: `127.0.0.1:${upstream}` },
      agent,
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("aborted", () => response.destroy());
    },
  );
  up.on("error", () => response.destroy());
  response.on("close", () => {
    if (!response.writableFinished) up.destroy();
  });
  request.pipe(up);
});
server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen(0, "127.0.0.1", 8_192, () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
process.on("SIGTERM", () => process.exit(0));
