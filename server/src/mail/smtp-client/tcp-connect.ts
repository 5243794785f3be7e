import net from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { SmtpErrorKind } from './smtp-results.ts';

/** How long to wait for a socket, and who may end the wait. */
export interface SocketWait {
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

export interface SocketError {
  kind: SmtpErrorKind;
  detail: string;
}

/** A TCP connection to the address, or what stood in the way. */
export async function connectTcp(
  address: { ip: string; port: number; localAddress?: string },
  wait: SocketWait,
): Promise<net.Socket | SocketError> {
  const { ip, port, localAddress } = address;
  const socket = net.connect({
    host: ip,
    port,
    noDelay: true,
    ...(localAddress && { localAddress }),
  });
  return (await socketReady(socket, 'connect', wait)) ?? socket;
}

/** Waits until the socket emits `event`; on anything else the socket is destroyed. */
export function socketReady(
  socket: net.Socket,
  event: 'connect' | 'secureConnect',
  { clock, timeoutMs, signal }: SocketWait,
): Promise<SocketError | undefined> {
  return new Promise((resolve) => {
    const onReady = () => settle(undefined);
    const onError = (error: NodeJS.ErrnoException) => settle(toSocketError(error));
    const onClose = () =>
      settle({ kind: 'connection_lost', detail: 'The receiver closed the connection.' });
    const onAbort = () => settle({ kind: 'aborted', detail: 'We stopped waiting.' });
    const timer = clock.after(timeoutMs, () =>
      settle({ kind: 'timed_out', detail: `No answer within ${timeoutMs / 1000} s.` }),
    );
    socket.once(event, onReady).once('error', onError).once('close', onClose);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();

    function settle(error: SocketError | undefined): void {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      socket.off(event, onReady).off('error', onError).off('close', onClose);
      if (error) {
        // Without a listener a late error of a dead socket would end the process.
        socket.on('error', () => {});
        socket.destroy();
      }
      resolve(error);
    }
  });
}

function toSocketError(error: NodeJS.ErrnoException): SocketError {
  const detail = error.code ? `${error.message} (${error.code})` : error.message;
  switch (error.code) {
    case 'ECONNREFUSED':
      return { kind: 'connection_refused', detail: error.message };
    case 'ETIMEDOUT':
      return { kind: 'timed_out', detail: error.message };
    case 'ECONNRESET':
    case 'EPIPE':
      return { kind: 'connection_lost', detail: error.message };
    default:
      return { kind: 'network_unreachable', detail };
  }
}
