import { type Brake, type BrakeSettings, brakeExplanation } from './brake.ts';

/** The public form of a brake that is on: in the API and in events. */
export function publicBrake(
  { state, sinceMs, evidence }: Brake,
  { slowedMessagesPerHour }: Pick<BrakeSettings, 'slowedMessagesPerHour'>,
) {
  return {
    state,
    since: new Date(sinceMs).toISOString(),
    messages_per_hour: state === 'slowed' ? slowedMessagesPerHour : 0,
    explanation: brakeExplanation(evidence),
    evidence,
  };
}
