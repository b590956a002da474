import { describe, expect, it } from "vitest";
import { connect, splitAddress } from "./connection.ts";

describe("an address", () => {
  it("may name a folder of sockets, which the driver would read past", () => {
    expect(splitAddress("postgres://u:p@localhost/db?host=%2Ftmp%2Fa%20b&application_name=x")).toEqual({
      address: "postgres://u:p@localhost/db?application_name=x",
      socketFolder: "/tmp/a b",
    });
    expect(splitAddress("postgresql://u@localhost/db?host=/run/pg")).toEqual({
      address: "postgresql://u@localhost/db",
      socketFolder: "/run/pg",
    });
  });

  it("without such a folder stays as it is, several hosts included", () => {
    for (const address of [
      "postgres://u:p@one:1,two:2/db?target_session_attrs=primary",
      "postgres://h/db",
      "postgres:///db?host=h",
    ]) {
      expect(splitAddress(address)).toEqual({ address, socketFolder: undefined });
    }
  });

  it("that is none is refused without being repeated", () => {
    for (const bad of ["mysql://u:secret@h/db", "secret", "postgres://u:secret@[/db"]) {
      const refuse = (): unknown => connect(bad);
      expect(refuse).toThrow(expect.objectContaining({ name: "StoreError", code: "rejected" }));
      expect(refuse).not.toThrow(/secret/);
    }
  });
});
