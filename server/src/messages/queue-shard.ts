/**
 * The queue of a workspace is divided into lanes by the receiving domain, so that a claim can take a
 * few rows of each and one slow or flooded receiver does not hide the others. The number is stored
 * with each delivery: it must be the same in every release and on every node.
 */
export const QUEUE_SHARDS = 64;

/** FNV-1a over the lower-case domain. */
export function queueShardOf(domain: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < domain.length; i++) {
    hash = Math.imul(hash ^ domain.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % QUEUE_SHARDS;
}

/** The receiving domain of a stored address. */
export function addressDomain(recipientKey: string): string {
  return recipientKey.slice(recipientKey.lastIndexOf('@') + 1);
}
