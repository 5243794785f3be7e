import net from 'node:net';

/**
 * An SMTP receiver that accepts and discards everything, in a process of its own. It supports just
 * enough SMTP, with PIPELINING, and counts messages; the parent requests the count.
 */

let received = 0;
let lastAt = 0;

const END = '\r\n.\r\n';
const EHLO_REPLY =
  '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-CHUNKING\r\n250 SIZE 50000000\r\n';

/** What one connection has sent; returns the replies. */
function newSession(): { take(bytes: string): string; ended: boolean } {
  let inData = false;
  /** Octets of a BDAT command that have not arrived. */
  let chunkLeft = 0;
  /** The start of a command, or what may be the start of a terminator. */
  let pending = '';
  const session = {
    ended: false,
    take(bytes: string): string {
      const text = pending === '' ? bytes : pending + bytes;
      let at = 0;
      let reply = '';
      for (;;) {
        if (inData) {
          const end = text.indexOf(END, at);
          if (end < 0) {
            pending = text.slice(Math.max(at, text.length - END.length + 1));
            return reply;
          }
          at = end + END.length;
          inData = false;
          received += 1;
          lastAt = performance.timeOrigin + performance.now();
          reply += '250 2.0.0 taken\r\n';
          continue;
        }
        if (chunkLeft > 0) {
          const arrived = Math.min(chunkLeft, text.length - at);
          at += arrived;
          chunkLeft -= arrived;
          if (chunkLeft > 0) {
            pending = '';
            return reply;
          }
          received += 1;
          lastAt = performance.timeOrigin + performance.now();
          reply += '250 2.0.0 taken\r\n';
          continue;
        }
        const line = text.indexOf('\r\n', at);
        if (line < 0) {
          pending = text.slice(at);
          return reply;
        }
        const verb = text.slice(at, at + 4).toUpperCase();
        if (verb === 'BDAT') chunkLeft = Number.parseInt(text.slice(at + 5, line), 10);
        at = line + 2;
        if (verb === 'BDAT') continue;
        if (verb === 'EHLO') reply += EHLO_REPLY;
        else if (verb === 'DATA') {
          inData = true;
          reply += '354 go\r\n';
          // The terminator of an empty message starts with the line break of the command.
          at = line;
        } else if (verb === 'QUIT') {
          session.ended = true;
          return `${reply}221 bye\r\n`;
        } else reply += '250 2.1.0 ok\r\n';
      }
    },
  };
  return session;
}

const server = net.createServer({ noDelay: true }, (socket) => {
  const session = newSession();
  socket.on('error', () => {});
  socket.write('220 sink.example ESMTP\r\n');
  socket.setEncoding('latin1');
  socket.on('data', (bytes: string) => {
    if (session.ended) return;
    const reply = session.take(bytes);
    if (session.ended) socket.end(reply);
    else if (reply !== '') socket.write(reply, 'latin1');
  });
});

server.listen(0, process.argv[2], () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port });
});
process.on('message', () => process.send?.({ received, lastAt }));
process.once('SIGTERM', () => process.exit(0));
