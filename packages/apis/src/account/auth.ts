import { aiserver, unary, type Rpc } from "@chartroom/gateway/face";
import { accountOf } from "./account.ts";

const { GetEmailResponse_SignUpType: SignUpType } = aiserver;

/** `AuthService`, and the user as `AiService` has it (wire section 14). */
export function auth(): readonly Rpc[] {
  const { method } = aiserver.AuthService;
  return [
    unary(method.getEmail, (_, { principal }) => ({
      email: accountOf(principal).email,
      signUpType: SignUpType.AUTH_0,
    })),
    unary(method.getUserMeta, (_, { principal }) => {
      const { email, number } = accountOf(principal);
      return { email, signUpType: SignUpType.AUTH_0, userId: BigInt(number) };
    }),
    unary(aiserver.AiService.method.getUserInfo, (_, { principal }) => ({
      userId: accountOf(principal).authId,
      usage: { gpt4Requests: 0, gpt4MaxRequests: 0 },
    })),
  ];
}
