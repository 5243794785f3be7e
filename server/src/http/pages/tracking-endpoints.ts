import type { FastifyInstance, FastifyReply } from 'fastify';
import type { SuspensionCache } from '../../accounts/suspension-cache.ts';
import { isMachine } from '../../tracking/machine-detection.ts';
import { CLICK_PATH, OPEN_PATH, type TrackingLinks } from '../../tracking/tracking-links.ts';
import type { TrackingRecorder } from '../../tracking/tracking-recorder.ts';

/**
 * The endpoints behind the links and the tracking pixel of tracked mail. The redirect and the
 * pixel are returned immediately, whether or not the open or click can be recorded. URLs that
 * this server did not sign get a 404.
 *
 * Only live mail of a workspace in good standing redirects. Anyone with a test key can have any
 * URL signed, and a suspended workspace must not keep its links under this server's name. Links keep
 * working while the database is unavailable.
 */
export interface TrackingEndpointDependencies {
  links: TrackingLinks;
  visits: TrackingRecorder;
  suspensions: Pick<SuspensionCache, 'isSuspended'>;
}

export function registerTrackingEndpoints(
  server: FastifyInstance,
  deps: TrackingEndpointDependencies,
): void {
  const { links, visits, suspensions } = deps;
  server.get<{ Params: { name: string } }>(`${OPEN_PATH}:name`, (request, reply) => {
    const message = links.readOpen(request.params.name.replace(/\.gif$/, ''));
    if (!message) return sendInvalidLink(reply);
    visits.record(message, { machine: isMachine(request) });
    return reply.headers(HEADERS).type('image/gif').send(IMAGE);
  });
  server.get<{ Params: { token: string; '*': string } }>(
    `${CLICK_PATH}:token/*`,
    async (request, reply) => {
      const click = links.readClick(request.params.token, request.params['*']);
      if (!click) return sendInvalidLink(reply);
      visits.record(click, { machine: isMachine(request), url: click.url });
      if (click.mode === 'test') return sendText(reply, 200, testLinkText(click.url));
      if (await suspensions.isSuspended(click.workspaceId)) {
        return sendText(reply, 410, SUSPENDED_TEXT);
      }
      return reply
        .code(302)
        .headers({ ...HEADERS, location: click.url })
        .send();
    },
  );
}

/**
 * Prevents caching, so that every open and click reaches this server, and sends no referrer to
 * the destination.
 */
const HEADERS = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'content-security-policy': "default-src 'none'",
};

/** A transparent 1×1 GIF. */
const IMAGE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const SUSPENDED_TEXT = 'This link is no longer available, because its sender was suspended.\n';

function testLinkText(url: string): string {
  return `This link is from a test message. The click was recorded. In live mail it leads to:\n\n${url}\n`;
}

function sendInvalidLink(reply: FastifyReply): FastifyReply {
  const text = 'This link is incomplete. Open the message again and follow the link from there.\n';
  return sendText(reply, 404, text);
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).headers(HEADERS).type('text/plain; charset=utf-8').send(text);
}
