import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommandChannel } from './command-channel.ts';

const BLOCK_BYTES = 64 * 1024;

/**
 * Writes a large message as fast as the receiver reads it, so that memory stays bounded. Each block
 * has a deadline of its own. False if the channel closed, or if `mayContinue` said no after a block.
 */
export async function writeBlocks(
  channel: CommandChannel,
  blocks: readonly Buffer[],
  blockMs: number,
  mayContinue: () => boolean,
): Promise<boolean> {
  for (const block of blocks) {
    for (let at = 0; at < block.length; at += BLOCK_BYTES) {
      channel.setDeadline(blockMs);
      channel.write(block.subarray(at, at + BLOCK_BYTES));
      await channel.drained();
      // A fast receiver drains at once; yield so that other connections, and an early rejection,
      // are handled.
      await nextTurn();
      if (!channel.open || !mayContinue()) return false;
    }
  }
  return true;
}
