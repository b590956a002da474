import type { Clock, DomainEvent, Entropy, MemberId, Principal, Result, TeamId } from "@chartroom/domain";
import { type Apis, createGateway, type Gateway, type GatewayLimits, type GatewayOptions } from "@chartroom/gateway";
import { parseBearer } from "@chartroom/protocol";
import { selfSigned } from "./certificate.ts";
import { FakeConversations } from "./fake-conversations.ts";
import { countedEntropy, ManualClock } from "./manual-clock.ts";
import { type Peer, type PeerKind, peerOf } from "./peer.ts";

export interface Harness {
  readonly gateway: Gateway;
  readonly conversations: FakeConversations;
  readonly clock: ManualClock;
  readonly events: DomainEvent[];
  /** Errors that the gateway did not expect. */
  readonly reports: unknown[];
  readonly port: number;
  readonly ca: string;
  /** A client of one kind, closed with the harness. */
  peer(kind?: PeerKind, token?: string): Peer;
  close(): Promise<void>;
}

export interface HarnessOptions {
  readonly limits?: Partial<GatewayLimits>;
  readonly apis?: readonly Apis[];
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  readonly readiness?: GatewayOptions["readiness"];
}

const MEMBERS: Readonly<Record<string, string>> = { "token-ann": "ann", "token-bob": "bob" };
/** A token at which finding out who calls breaks. */
export const BREAKS = "token-that-breaks";
export const UNAUTHENTICATED = {
  code: "UNAUTHENTICATED",
  title: "Not signed in",
  detail: "A valid token is required.",
  retryable: false,
} as const;

const certificate = selfSigned();

/** A gateway on a free port with fake conversations and a clock that stands still. Tokens: `token-ann`, `token-bob`. */
export async function startGateway(options: HarnessOptions = {}): Promise<Harness> {
  const conversations = new FakeConversations();
  const clock = new ManualClock();
  const events: DomainEvent[] = [];
  const reports: unknown[] = [];
  const gateway = createGateway({
    conversations,
    clock: options.clock ?? clock,
    entropy: options.entropy ?? countedEntropy(),
    authenticate: (header): Result<Principal> => {
      const token = parseBearer(header("authorization"));
      if (token === BREAKS) throw new Error("an inner detail");
      const member = MEMBERS[token ?? ""];
      return member === undefined ? { ok: false, error: UNAUTHENTICATED } : { ok: true, value: principalOf(member) };
    },
    apis: options.apis ?? [],
    readiness: options.readiness ?? (() => ({ ready: true })),
    events: (event) => events.push(event),
    tls: certificate,
    report: (cause) => reports.push(cause),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const { port } = await gateway.listen("127.0.0.1", 0);
  const peers: Peer[] = [];
  return {
    gateway,
    conversations,
    clock,
    events,
    reports,
    port,
    ca: certificate.cert,
    peer(kind = "h1", token = "token-ann") {
      const peer = peerOf(kind, port, certificate.cert, token);
      peers.push(peer);
      return peer;
    },
    async close() {
      for (const peer of peers) peer.close();
      await gateway.close();
    },
  };
}

export function principalOf(member: string): Principal {
  return { member: member as MemberId, team: "team" as TeamId, roles: ["member"] };
}
