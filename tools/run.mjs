// The one way in, for people and for CI: needs nothing but Node >= 18 and npm. Brings a Node that is new enough and pnpm
// into .toolchain (only what is missing), installs the workspace from the lockfile, then runs the word it was given.
// Plain JavaScript without dependencies, because it runs before anything is installed.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const MIN_NODE = [22, 18];
const NODE = "24.22.3";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === "win32";
const say = (text) => process.stderr.write(`[setup] ${text}\n`);

const ts = (file, ...args) => ["node", "--disable-warning=ExperimentalWarning", file, ...args];
/** What each word runs; the words are the scripts of package.json plus `exec` and `env`. */
const WORDS = {
  start: ts("apps/server/src/main.ts", "start"),
  test: ["vitest", "run"],
  check: ts("tools/check/main.ts"),
  chat: ts("apps/client/src/main.ts", "chat"),
  charts: ts("tools/charts/main.ts"),
  proto: ["node", "protocols/generate.mjs"],
  bench: ts("bench/main.ts"),
  soak: ts("test/property/soak.ts"),
  mutate: ts("tools/mutate/main.ts"),
  chartroom: ts("apps/server/src/main.ts"),
  lint: ["oxlint", "--type-aware"],
  format: ["oxfmt"],
  exec: [],
};

const [word = "help", ...rest] = process.argv.slice(2);
if (word !== "env" && !Object.hasOwn(WORDS, word)) {
  console.error(`usage: node tools/run.mjs ${Object.keys(WORDS).join("|")}|env [arguments]`);
  process.exit(2);
}
const bins = toolchain();
const env = { ...process.env, PATH: [...bins, process.env.PATH].join(path.delimiter) };
if (word === "env") {
  console.log(`export PATH='${[...new Set(env.PATH.split(path.delimiter))].join(path.delimiter)}'`);
  process.exit(0);
}
install(env);
run(commandOf(word, rest), env);

/** Makes sure of Node and pnpm; gives the folders to put in front of PATH. */
function toolchain() {
  const folder = path.join(root, ".toolchain");
  const pnpm = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).packageManager.slice(
    "pnpm@".length,
  );
  const [major, minor] = process.versions.node.split(".").map(Number);
  const nodeOk = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
  const nodePackage =
    process.platform === "linux" && ["x64", "arm64"].includes(process.arch) ? `node-linux-${process.arch}` : undefined;
  if (!nodeOk && !nodePackage) {
    say(`this needs Node ${MIN_NODE.join(".")} or newer, found ${process.versions.node}`);
    process.exit(1);
  }
  const missing = [];
  if (!nodeOk && versionIn(folder, nodePackage) !== NODE) missing.push(`${nodePackage}@${NODE}`);
  if (versionIn(folder, "pnpm") !== pnpm && !pnpmOnPath(pnpm)) missing.push(`pnpm@${pnpm}`);
  if (missing.length > 0) {
    const old = nodeOk ? "" : `Node ${process.versions.node} is older than ${MIN_NODE.join(".")}; `;
    say(`${old}fetching ${missing.join(", ")} into .toolchain`);
    fetchInto(folder, missing);
  }
  const own = path.join(folder, "node_modules", ".bin");
  return [...(fs.existsSync(own) ? [own] : []), path.join(root, "node_modules", ".bin")];
}

function versionIn(folder, name) {
  const file = path.join(folder, "node_modules", name, "package.json");
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).version : undefined;
}

function pnpmOnPath(wanted) {
  // from the file system's root, where no packageManager pin of ours can make another pnpm answer
  const asked = spawnSync("pnpm", ["--version"], { cwd: path.parse(root).root, encoding: "utf8", shell: windows });
  if (asked.status !== 0) return false;
  const [major, minor] = asked.stdout.split(".").map(Number);
  const [wantedMajor, wantedMinor] = wanted.split(".").map(Number);
  return major === wantedMajor && minor >= wantedMinor;
}

function fetchInto(folder, packages) {
  fs.mkdirSync(folder, { recursive: true });
  const manifest = path.join(folder, "package.json");
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{"private":true}\n');
  // `npm run` sets variables that would send this nested install to the workspace's root
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(
      ([key]) => !/^npm_(package|lifecycle)_|^npm_config_(local_prefix|prefix)$/i.test(key),
    ),
  );
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact", ...packages];
  const npm = spawnSync("npm", args, { cwd: folder, env: clean, stdio: ["ignore", 2, 2], shell: windows });
  if (npm.status !== 0) {
    say(`npm could not fetch ${packages.join(", ")}${npm.error ? `: ${npm.error.message}` : ""}`);
    process.exit(npm.status || 1);
  }
}

/** Installs when the lockfile is not the one of the last install. */
function install(env) {
  const lock = fs.readFileSync(path.join(root, "pnpm-lock.yaml"), "utf8");
  const stamp = path.join(root, "node_modules", ".installed");
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === lock) return;
  const begun = Date.now();
  const args = ["install", "--frozen-lockfile", "--reporter=append-only"];
  const pnpm = spawnSync("pnpm", args, {
    cwd: root,
    // with NODE_ENV=production pnpm would leave the development dependencies out
    env: { ...env, CI: "true", NODE_ENV: "" },
    stdio: ["ignore", 2, 2],
    shell: windows,
  });
  if (pnpm.status !== 0) {
    say(`pnpm could not install the workspace${pnpm.error ? `: ${pnpm.error.message}` : ""}`);
    process.exit(pnpm.status || 1);
  }
  fs.writeFileSync(stamp, lock);
  say(`dependencies installed in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
}

function commandOf(word, args) {
  // one program for users: its client side is the other app, which the server never loads
  if (word === "chartroom" && args[0] === "chat") return [...WORDS.chat, ...args.slice(1)];
  return [...WORDS[word], ...args];
}

function run([file, ...args], env) {
  if (file === undefined) {
    console.error("usage: node tools/run.mjs exec PROGRAM [arguments]");
    process.exit(2);
  }
  // `npm run` starts scripts in the root; a word that takes paths finds the caller's folder in INIT_CWD
  const child = spawn(file, args, { cwd: root, env, stdio: "inherit", shell: windows });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
  child.on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  });
}
