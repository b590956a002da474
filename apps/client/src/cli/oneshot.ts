import type { Client, TurnWish } from "../client.ts";
import type { Conversation } from "../session/conversation.ts";
import type { TurnEvent } from "../session/events.ts";
import { exitCodeOf } from "./exit.ts";

export interface OneShot {
  readonly client: Client;
  readonly conversation: Conversation;
  readonly wish: TurnWish;
  /** Gets every event of every turn. */
  readonly tell: (event: TurnEvent) => void;
  /** Calls back on each press of Ctrl-C; gives a function that stops it. */
  readonly onInterrupt: (handler: () => void) => () => void;
}

/** One turn; and what was sent meanwhile and not taken, one more each. Gives the exit code. */
export async function oneShot({ client, conversation, wish, tell, onInterrupt }: OneShot): Promise<number> {
  const turn = client.runTurn(conversation, wish);
  let presses = 0;
  const stop = onInterrupt(() => {
    presses += 1;
    if (presses === 1) turn.cancel();
    else turn.leave();
  });
  for await (const event of turn) tell(event);
  stop();
  return exitCodeOf(await turn.result);
}
