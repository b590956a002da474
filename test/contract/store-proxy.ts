import { once } from "node:events";
import net from "node:net";

/** A way to a database that can fail as networks do. */
export interface Proxy {
  /** The database's address by way of this proxy. */
  readonly url: string;
  /** Cuts all connections and takes no more. */
  cut(): Promise<void>;
  /** Takes connections again. */
  mend(): Promise<void>;
  /** From now on keeps what the connections that are open now send, without a word: a black hole. */
  hold(): void;
  /** Lets the database have what was kept, though nobody waits for the answer any more, and gives the bytes that it answered when it has worked it all off. */
  release(): Promise<number>;
  /** From now on keeps what the database answers, until `deliver`. */
  delay(): void;
  deliver(): void;
  /** Keeps what new connections send as well, until `mend`. */
  holdAll(): void;
  close(): Promise<void>;
}

interface Link {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** What the client sent and the database has not got. */
  held: Buffer[] | undefined;
  /** What the database answered and the client has not got. */
  answers: Buffer[] | undefined;
}

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get("host");
  const links = new Set<Link>();
  let holding = false;

  const listener = net.createServer((client) => {
    const server = folder
      ? net.connect(`${folder}/.s.PGSQL.${target.port || 5432}`)
      : net.connect(Number(target.port || 5432), target.hostname);
    const link: Link = { client, server, held: holding ? [] : undefined, answers: undefined };
    links.add(link);
    client.on("data", (data) => (link.held ? link.held.push(data) : server.write(data)));
    // a black hole swallows the end of a connection as well
    client.on("close", () => link.held ?? server.destroy());
    server.on("data", (data) => {
      if (link.answers) link.answers.push(data);
      else if (!link.held) client.write(data);
    });
    server.on("close", () => {
      links.delete(link);
      client.destroy();
    });
    for (const socket of [client, server]) socket.on("error", () => {});
  });
  const listen = async (port: number): Promise<number> => {
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    return (listener.address() as net.AddressInfo).port;
  };
  const port = await listen(0);
  const destroyAll = (): void => {
    for (const { client, server } of links) {
      client.destroy();
      server.destroy();
    }
  };
  const url = new URL(target);
  url.searchParams.delete("host");
  url.hostname = "127.0.0.1";
  url.port = String(port);
  const stop = async (): Promise<void> => {
    if (!listener.listening) return;
    const closed = once(listener, "close");
    listener.close();
    destroyAll();
    await closed;
  };

  return {
    url: url.href,
    cut: stop,
    async mend() {
      holding = false;
      if (!listener.listening) await listen(port);
    },
    hold() {
      for (const link of links) link.held ??= [];
    },
    delay() {
      for (const link of links) link.answers ??= [];
    },
    deliver() {
      for (const link of links) {
        for (const data of link.answers ?? []) link.client.write(data);
        link.answers = undefined;
      }
    },
    holdAll() {
      holding = true;
      for (const link of links) link.held ??= [];
    },
    async release() {
      let answered = 0;
      const done = [...links]
        .filter(({ held }) => held !== undefined)
        .map(async ({ server, held }) => {
          server.on("data", (data) => (answered += data.length));
          const closed = once(server, "close");
          for (const data of held!) server.write(data);
          // the database reads all of it before it sees the end
          server.end();
          await closed;
        });
      await Promise.all(done);
      return answered;
    },
    close: stop,
  };
}
