import type { FastifyInstance, FastifyReply } from 'fastify';
import { isMachine } from '../../tracking/machine-detection.ts';
import { CLICK_PATH, OPEN_PATH, type TrackingLinks } from '../../tracking/tracking-links.ts';
import type { TrackingRecorder } from '../../tracking/tracking-recorder.ts';

/**
 * The endpoints behind the links and the tracking pixel of tracked mail. The redirect and the
 * pixel are returned immediately, whether or not the open or click can be recorded. URLs that
 * this server did not sign get a 404.
 */
export interface TrackingEndpointDependencies {
  links: TrackingLinks;
  visits: TrackingRecorder;
}

export function registerTrackingEndpoints(
  server: FastifyInstance,
  deps: TrackingEndpointDependencies,
): void {
  const { links, visits } = deps;
  server.get<{ Params: { name: string } }>(`${OPEN_PATH}:name`, (request, reply) => {
    const message = links.readOpen(request.params.name.replace(/\.gif$/, ''));
    if (!message) return sendInvalidLink(reply);
    visits.record(message, { machine: isMachine(request) });
    return reply.headers(HEADERS).type('image/gif').send(IMAGE);
  });
  server.get<{ Params: { token: string; '*': string } }>(
    `${CLICK_PATH}:token/*`,
    (request, reply) => {
      const click = links.readClick(request.params.token, request.params['*']);
      if (!click) return sendInvalidLink(reply);
      visits.record(click, { machine: isMachine(request), url: click.url });
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

function sendInvalidLink(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .headers(HEADERS)
    .type('text/plain; charset=utf-8')
    .send('This link is incomplete. Open the message again and follow the link from there.\n');
}
