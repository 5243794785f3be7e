import net from 'node:net';
import type { Clock } from '../../lib/time/clock.ts';
import type { SmtpErrorKind } from './smtp-results.ts';

/** The timeout of a wait for a socket, and a signal to abort it. */
export interface SocketWait {
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

export interface SocketError {
  kind: SmtpErrorKind;
  detail: string;
}

/** Opens a TCP connection to the address, or returns the error that prevented it. */
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

/** Waits until the socket emits `event`; on any error the socket is destroyed. */
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
    const onAbort = () => settle({ kind: 'aborted', detail: 'The attempt was aborted.' });
    const timer = clock.after(timeoutMs, () =>
      settle({ kind: 'timed_out', detail: `No response within ${timeoutMs / 1000} s.` }),
    );
    socket.once(event, onReady).once('error', onError).once('close', onClose);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();

    function settle(error: SocketError | undefined): void {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      socket.off(event, onReady).off('error', onError).off('close', onClose);
      if (error) {
        // Without a listener, a late error of the destroyed socket would crash the process.
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
