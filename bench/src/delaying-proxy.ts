import net from 'node:net';

/**
 * A way to a receiver that is far away: every byte, in both directions, arrives half a round trip
 * later. It runs in a process of its own and is told the receiver's port and the round trip.
 */

const [target, roundTripMs] = process.argv.slice(2).map(Number) as [number, number];

const server = net.createServer({ noDelay: true }, (near) => {
  const far = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('error', () => to.destroy());
    // Timers of one length fire in the order they were set, so that bytes keep theirs.
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), roundTripMs / 2));
    from.on('end', () => setTimeout(() => to.end(), roundTripMs / 2));
  }
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port });
});
process.once('SIGTERM', () => process.exit(0));
