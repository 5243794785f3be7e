import net from 'node:net';

/**
 * Simulates a distant receiver: every byte, in both directions, arrives half a round trip later.
 * Runs in a process of its own; the arguments are the receiver's port and the round trip.
 */

const [target, roundTripMs] = process.argv.slice(2).map(Number) as [number, number];

const server = net.createServer({ noDelay: true }, (near) => {
  const far = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('error', () => to.destroy());
    // Timers of equal length fire in order, so that bytes stay in order.
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), roundTripMs / 2));
    from.on('end', () => setTimeout(() => to.end(), roundTripMs / 2));
  }
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port });
});
process.once('SIGTERM', () => process.exit(0));
