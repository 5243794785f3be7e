/**
 * The queue of a workspace is sharded by receiving domain. A claim takes a few rows from each
 * shard, so that one slow or overloaded receiver does not hide the others. The number is stored
 * with each delivery: it must be the same in every release and on every node.
 */
export const QUEUE_SHARDS = 64;

/** FNV-1a hash of the lower-case domain. */
export function queueShardOf(domain: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < domain.length; i++) {
    hash = Math.imul(hash ^ domain.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % QUEUE_SHARDS;
}

/** The domain of a stored address. */
export function addressDomain(recipientKey: string): string {
  return recipientKey.slice(recipientKey.lastIndexOf('@') + 1);
}
