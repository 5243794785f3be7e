/**
 * In test mode, addresses at simulator.test simulate receiver behavior. The local part before any
 * +label selects it: see delivery/simulator.ts.
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

export const SIMULATED_SUPPRESSION_REASON = 'manual';
