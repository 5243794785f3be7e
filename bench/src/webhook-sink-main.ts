import net from 'node:net';

/**
 * Webhook receivers with minimal overhead, in a process of their own: requests are recognized by
 * their length alone and answered with 204. `mode` "hang" accepts requests and never responds.
 */

const count = Number(process.argv[2] ?? 1);
const mode = process.argv[3] ?? 'respond';
const RESPONSE = 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n';

let received = 0;
/** Milliseconds from the event's time to its arrival, up to a maximum count. */
const delays: number[] = [];
const DELAYS_MAX = 100_000;

const ports = await Promise.all(Array.from({ length: count }, listen));
process.send?.({ ports });
process.on('message', (command: string) => {
  if (command === 'reset') {
    received = 0;
    delays.length = 0;
  }
  process.send?.({ received, delays: command === 'delays' ? delays : [] });
});

function listen(): Promise<number> {
  const server = net.createServer((socket) => {
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
      for (;;) {
        const headEnd = text.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
        const end = headEnd + 4 + length;
        if (text.length < end) return;
        if (delays.length < DELAYS_MAX) note(text.slice(headEnd + 4, end));
        text = text.slice(end);
        received += 1;
        if (mode === 'respond') socket.write(RESPONSE);
      }
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as net.AddressInfo).port));
  });
}

function note(body: string): void {
  const createdAt = /"created_at":"([^"]+)"/.exec(body)?.[1];
  if (createdAt) delays.push(Date.now() - Date.parse(createdAt));
}
