/** PostgreSQL ended the transaction for another's sake, a deadlock above all: done again it will do. */
export function isLostRace(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '40P01' || code === '40001';
}
