import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { chooseAccount, giveTo, startAs } from "./account.ts";

describe("the account of Postgres", () => {
  it("is this process's, unless that is root or has no name, as whom Postgres does not run", () => {
    const never = (): boolean => {
      throw new Error("asked in vain");
    };
    expect(chooseAccount({ uid: 1000, named: true, namespaces: never })).toBe("self");
    expect(chooseAccount({ uid: undefined, named: true, namespaces: never })).toBe("self");
    expect(chooseAccount({ uid: 0, named: true, namespaces: () => true })).toBe("namespace");
    expect(chooseAccount({ uid: 0, named: true, namespaces: () => false })).toBe("nobody");
    expect(chooseAccount({ uid: 1000, named: false, namespaces: () => true })).toBe("namespace");
    expect(chooseAccount({ uid: 1000, named: false, namespaces: () => false })).toBe("self");
  });

  it("decides how a program is started", () => {
    expect(startAs("self", "/bin/x", ["-a"])).toEqual({ command: "/bin/x", args: ["-a"], options: {} });
    expect(startAs("nobody", "/bin/x", ["-a"])).toEqual({
      command: "/bin/x",
      args: ["-a"],
      options: { uid: 65_534, gid: 65_534 },
    });
    const { command, args, options } = startAs("namespace", "/bin/x", ["-a"]);
    expect([command, ...args]).toEqual(["unshare", "--user", "--map-user=65534", "--map-group=65534", "/bin/x", "-a"]);
    expect(options).toEqual({});
  });

  it("that is not another user is given nothing", () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-account-"));
    const before = fs.statSync(dir);
    giveTo("self", dir);
    giveTo("namespace", dir);
    expect(fs.statSync(dir)).toMatchObject({ uid: before.uid, gid: before.gid });
    fs.rmdirSync(dir);
  });
});
