import { aiserver, unary, type Rpc } from "@chartroom/gateway/face";
import { answeredEmpty } from "../empty.ts";
import type { ApiOptions } from "../options.ts";
import { accountOf, billingCycle, PLAN_NAME } from "./account.ts";

/** `DashboardService`: account, plan and usage. Nothing is billed here, and no limit of the vendor's holds. */
export function dashboard({ clock }: ApiOptions): readonly Rpc[] {
  const { method } = aiserver.DashboardService;
  return [
    unary(method.getMe, (_, { principal }) => {
      const { authId, email, name, number } = accountOf(principal);
      return {
        authId,
        userId: number,
        email,
        firstName: name,
        lastName: "",
        isEnterpriseUser: false,
        isTeamAdmin: principal.roles.includes("admin"),
      };
    }),
    // a team of the vendor's would bring its settings, its marketplace and its billing with it
    answeredEmpty(method.getTeams),
    unary(method.getUserPrivacyMode, () => ({
      privacyMode: aiserver.PrivacyMode.NO_TRAINING,
      hoursRemainingInGracePeriod: 0,
      isEnforcedByTeam: false,
      isNotMigratedToServerSourceOfTruth: false,
      partnerDataShare: false,
      hasAcknowledgedGracePeriodDisclaimer: true,
    })),
    unary(method.getPlanInfo, () => ({
      planInfo: {
        planName: PLAN_NAME,
        includedAmountCents: 0,
        price: "",
        billingCycleEnd: BigInt(billingCycle(clock.now()).end),
      },
    })),
    unary(method.getCurrentPeriodUsage, () => {
      const { start, end } = billingCycle(clock.now());
      return {
        billingCycleStart: BigInt(start),
        billingCycleEnd: BigInt(end),
        planUsage: { totalSpend: 0, includedSpend: 0, bonusSpend: 0, remaining: 0, limit: 0, totalPercentUsed: 0 },
        spendLimitUsage: { totalSpend: 0, individualUsed: 0, individualRemaining: 0, limitType: "user" },
        enabled: false,
        displayMessage: "",
      };
    }),
    unary(method.getUsageLimitStatusAndActiveGrants, () => ({
      usageLimitPolicyStatus: { isInSlowPool: false, canConfigureSpendLimit: false, hasPendingRequest: false },
      activeGrants: [],
    })),
    unary(method.isOnNewPricing, (_, { principal }) => ({
      isOnNewPricing: true,
      isOptedOut: false,
      hasAutoSpillover: false,
      dashboardUserId: accountOf(principal).number,
    })),
    unary(method.getHardLimit, () => ({ hardLimit: 0, noUsageBasedAllowed: true })),
    answeredEmpty(method.getUsageBasedPremiumRequests),
    answeredEmpty(method.getUserProfile),
    answeredEmpty(method.getEffectiveUserPlugins),
    answeredEmpty(method.getManagedSkills),
  ];
}
