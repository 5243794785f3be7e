/**
 * Addresses at simulator.test play a receiver's part in test mode. Which part is in the local part,
 * before any +label: see delivery/simulator.ts for what each does.
 */
const SIMULATOR_DOMAIN = '@simulator.test';

export function isSimulatorAddress(recipientKey: string): boolean {
  return recipientKey.endsWith(SIMULATOR_DOMAIN);
}

/** The part an address plays, or undefined when it is no simulator address. */
export function simulatedBehavior(recipientKey: string): string | undefined {
  if (!isSimulatorAddress(recipientKey)) return undefined;
  const local = recipientKey.slice(0, -SIMULATOR_DOMAIN.length);
  const label = local.indexOf('+');
  return label < 0 ? local : local.slice(0, label);
}

/** This address is on the suppression list of every workspace's test mode, without a row there. */
export function isSimulatedSuppression(recipientKey: string): boolean {
  return simulatedBehavior(recipientKey) === 'suppressed';
}

export const SIMULATED_SUPPRESSION_REASON = 'manual';
