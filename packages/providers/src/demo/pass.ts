import type { ProviderFailureKind } from "@chartroom/domain";

/** One thing that the demo model does in a pass, in order. */
export type Act =
  | { readonly type: "think"; readonly text: string }
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "wait"; readonly ms: number }
  /** `arguments` is sent as it is, also when it is no JSON. */
  | { readonly type: "call"; readonly name: string; readonly arguments: string }
  | { readonly type: "fail"; readonly kind: ProviderFailureKind; readonly message: string };

/** All that one model call gives. It ends for tools when it holds a call. */
export type Pass = readonly Act[];
