import type { ConversationStore, NodeId } from "@chartroom/domain";
import { openStore } from "@chartroom/store";
import { systemClock } from "../../support/clock.ts";
import { createDatabase, test as base } from "../../support/database.ts";

/** vitest's `test` with a second server's store, which knows nothing of the first: `elsewhere`. */
export const test = base.extend<{ elsewhere: ConversationStore }>({
  elsewhere: [
    // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of the fixtures it needs off this pattern
    async ({}, use) => {
      const database = await createDatabase();
      const opened = openStore({ url: database.url, nodeId: "elsewhere" as NodeId, clock: systemClock });
      await opened.nodeLease.start();
      await use(opened.store);
      await opened.nodeLease.stop();
      await opened.close();
      await database.drop();
    },
    { scope: "file" },
  ],
});
