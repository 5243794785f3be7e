import net from 'node:net';

/**
 * An SMTP receiver that accepts and discards everything, in a process of its own. It supports just
 * enough SMTP, with PIPELINING, and counts messages; the parent requests the count.
 */

let received = 0;
let lastAt = 0;

const END = Buffer.from('\r\n.\r\n');

const server = net.createServer((socket) => {
  socket.setNoDelay(true);
  let inData = false;
  let pending = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.write('220 sink.example ESMTP\r\n');
  socket.on('data', (chunk: Buffer) => {
    let bytes = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk;
    let reply = '';
    for (;;) {
      if (inData) {
        const end = bytes.indexOf(END);
        if (end < 0) break;
        bytes = bytes.subarray(end + END.length);
        inData = false;
        received += 1;
        lastAt = performance.timeOrigin + performance.now();
        reply += '250 2.0.0 taken\r\n';
        continue;
      }
      const line = bytes.indexOf('\r\n');
      if (line < 0) break;
      const verb = bytes.toString('latin1', 0, 4).toUpperCase();
      bytes = bytes.subarray(line + 2);
      if (verb === 'EHLO')
        reply += '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 50000000\r\n';
      else if (verb === 'DATA') {
        inData = true;
        reply += '354 go\r\n';
      } else if (verb === 'QUIT') {
        socket.end('221 bye\r\n');
        return;
      } else reply += '250 2.1.0 ok\r\n';
    }
    // Keeps enough to recognize a terminator that is split between two chunks.
    pending = Buffer.from(inData && bytes.length > 8 ? bytes.subarray(-8) : bytes);
    if (reply !== '') socket.write(reply);
  });
});

server.listen(0, process.argv[2], () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port });
});
process.on('message', () => process.send?.({ received, lastAt }));
process.once('SIGTERM', () => process.exit(0));
