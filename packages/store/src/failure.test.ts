import { describe, expect, it } from "vitest";
import { StoreError, toStoreError } from "./failure.ts";

const failure = (code: string, more: object = {}): Error => Object.assign(new Error("secret text"), { code, ...more });

describe("a failure of the driver", () => {
  it("says whether trying again can help", () => {
    for (const code of ["08006", "57P01", "57014", "53300", "40P01", "25006", "CONNECTION_CLOSED", "CONNECT_TIMEOUT"]) {
      expect(toStoreError(failure(code))).toMatchObject({ code: "unavailable", retryable: true, state: code });
    }
    for (const code of ["ECONNREFUSED", "ENOENT"]) {
      expect(toStoreError(failure(code, { syscall: "connect" }))).toMatchObject({ code: "unavailable" });
    }
    for (const code of ["23505", "42P01", "22021", "28P01", "3D000", "MAX_PARAMETERS_EXCEEDED"]) {
      expect(toStoreError(failure(code))).toMatchObject({ code: "rejected", retryable: false, state: code });
    }
  });

  it("is not a missing database when a file is missing", () => {
    expect(toStoreError(failure("ENOENT", { syscall: "open" }))).toMatchObject({ code: "rejected" });
  });

  it("is found under what wraps it", () => {
    const wrapped = new Error("failed query: secret", { cause: failure("57P03") });
    expect(toStoreError(wrapped)).toMatchObject({ code: "unavailable", state: "57P03" });
  });

  it("keeps of its texts only the table and the rule", () => {
    const told = toStoreError(
      failure("23505", {
        ...{
          detail: "Key (id)=(secret)",
          query: "secret",
          parameters: ["secret"],
          table_name: "run",
          constraint_name: "run_pkey",
        },
      }),
    );
    expect(told.message).toBe("the database refused (23505, table run, run_pkey)");
    expect(told.cause).toBeUndefined();
    expect(told.stack).not.toContain("secret");
    for (const odd of ["secret", undefined, null, { code: "secret" }])
      expect(toStoreError(odd).message).not.toContain("secret");
  });

  it("that is ours already stays", () => {
    const own = new StoreError("unbound", "x");
    expect(toStoreError(own)).toBe(own);
  });
});
