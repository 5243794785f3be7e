/**
 * Postmark numbers bounces, and clients read the numbers as integers or doubles, so they have at most 53
 * bits. These consist of the time of the event, by which the API finds it, and of 12 random bits from its
 * UUID. Two bounces of a workspace in the same millisecond share a number once in 4,096 times.
 */

const EPOCH_MS = Date.UTC(2020, 0, 1);
const RANDOM_VALUES = 4096;

export function bounceIdOf(uuid: string, createdAtMs: number): number {
  const random = Number.parseInt(uuid.slice(-3), 16);
  return (createdAtMs - EPOCH_MS) * RANDOM_VALUES + random;
}

/** When the event with this number was created. */
export function bounceTimeMs(bounceId: number): number {
  return EPOCH_MS + Math.floor(bounceId / RANDOM_VALUES);
}
