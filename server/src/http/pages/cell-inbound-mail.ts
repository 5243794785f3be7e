import type { FastifyInstance } from 'fastify';
import type { InboundOutcome, InboundReceiver } from '../../inbound/inbound-receiver.ts';
import type { MailClient } from '../../inbound/received-header.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { requireRouterToken } from './cell-lookup.ts';

/**
 * Accepts mail for the domains of workspaces that a router has received over SMTP. A response means that
 * it is committed, or why it must not be. It requires ROUTER_TOKEN, and the router never forwards it, so
 * no client can use it.
 */
export interface CellInboundMailDependencies {
  routerToken: string;
  inbound: Pick<InboundReceiver, 'resolveAddress' | 'receive'>;
}

export const CELL_INBOUND_MAIL_PATH = '/cell-inbound-mail';

/** The first line of the body, in JSON; the mail follows. A URL would be too short for 100 recipients. */
export interface RoutedEnvelope {
  from: string;
  to: string[];
  client: MailClient;
}

/** `absent`: a recipient is not here, or not any more. */
export type RoutedMailResponse = { state: 'absent' } | { outcome: InboundOutcome };

/** More than any router accepts: MESSAGE_MAX_BYTES has its own limit there. */
const BODY_BYTES_MAX = 128 * 1024 * 1024;

export function registerCellInboundMail(
  server: FastifyInstance,
  { inbound, routerToken }: CellInboundMailDependencies,
): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.post<{ Body: Buffer }>(
      CELL_INBOUND_MAIL_PATH,
      { onRequest: requireRouterToken(routerToken) },
      async ({ body }, reply): Promise<RoutedMailResponse> => {
        void reply.header('cache-control', 'no-store');
        const { envelope, data } = readRoutedMail(body);
        const found = await Promise.all(envelope.to.map((one) => inbound.resolveAddress(one)));
        const to = found.filter((address) => address !== undefined);
        if (to.length === 0 || to.length < found.length) return { state: 'absent' };
        const { from: mailFrom, client } = envelope;
        return { outcome: await inbound.receive({ mailFrom, to, client, data }) };
      },
    );
  });
}

function readRoutedMail(body: Buffer): { envelope: RoutedEnvelope; data: Buffer } {
  const end = body.indexOf('\n');
  if (end === -1) throw new RefusedError('malformed_request', 'The envelope is missing.');
  return {
    envelope: JSON.parse(body.toString('utf8', 0, end)) as RoutedEnvelope,
    data: body.subarray(end + 1),
  };
}

export function writeRoutedMail(envelope: RoutedEnvelope, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(envelope)}\n`), data]);
}
