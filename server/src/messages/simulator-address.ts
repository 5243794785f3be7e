/**
 * In test mode, addresses at simulator.test simulate receiver behavior. The local part before any
 * +label selects it: see delivery/transport/simulator.ts.
 */
const SIMULATOR_DOMAIN = '@simulator.test';

export function isSimulatorAddress(recipientKey: string): boolean {
  return recipientKey.endsWith(SIMULATOR_DOMAIN);
}

/** The behavior that an address selects, or undefined when it is not a simulator address. */
export function simulatedBehavior(recipientKey: string): string | undefined {
  if (!isSimulatorAddress(recipientKey)) return undefined;
  const local = recipientKey.slice(0, -SIMULATOR_DOMAIN.length);
  const label = local.indexOf('+');
  return label < 0 ? local : local.slice(0, label);
}

/**
 * This address counts as suppressed in the test mode of every workspace, without a row in the list.
 */
export function isSimulatedSuppression(recipientKey: string): boolean {
  return simulatedBehavior(recipientKey) === 'suppressed';
}

/** `smtp-550-5.7.26` selects exactly this reply; `smtp-451` has no enhanced code. */
export function simulatedReply(
  behavior: string,
): { code: number; enhanced: string | null } | undefined {
  const match = /^smtp-(([245])\d\d)(?:-(\2\.\d{1,3}\.\d{1,3}))?$/.exec(behavior);
  return match ? { code: Number(match[1]), enhanced: match[3] ?? null } : undefined;
}

/** `defer-3` selects three deferrals before delivery. */
export function simulatedDeferrals(behavior: string): number | undefined {
  const [, count] = /^defer-(\d{1,3})$/.exec(behavior) ?? [];
  return count === undefined ? undefined : Number(count);
}

/**
 * What is wrong with an address that asks for a reply or a number of deferrals that cannot be
 * simulated. Delivering it would make a test of an error pass that never happened.
 */
export function simulatorAddressError(recipientKey: string): string | undefined {
  const behavior = simulatedBehavior(recipientKey);
  if (behavior?.startsWith('smtp-') && !simulatedReply(behavior)) {
    return 'Use a reply code from 400 to 599 or from 200 to 299, alone or with an enhanced code of its class: smtp-451, smtp-550-5.7.26.';
  }
  if (behavior?.startsWith('defer-') && simulatedDeferrals(behavior) === undefined) {
    return 'Use a number from 0 to 999: defer-3.';
  }
  return undefined;
}

export const SIMULATED_SUPPRESSION_REASON = 'manual';
