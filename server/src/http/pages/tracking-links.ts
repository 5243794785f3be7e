import type { FastifyInstance, FastifyReply } from 'fastify';
import { isMachine } from '../../tracking/machine-detection.ts';
import { CLICK_PATH, OPEN_PATH, type TrackingLinks } from '../../tracking/tracking-links.ts';
import type { TrackingRecorder } from '../../tracking/tracking-recorder.ts';

/**
 * Where the links and the image of tracked mail lead. A click is sent on at once and an image is
 * given at once, whether or not the visit can be recorded; an address that we did not sign gets
 * neither.
 */
export interface TrackedVisitsParts {
  links: TrackingLinks;
  visits: TrackingRecorder;
}

export function addTrackedVisits(server: FastifyInstance, parts: TrackedVisitsParts): void {
  const { links, visits } = parts;
  server.get<{ Params: { name: string } }>(`${OPEN_PATH}:name`, (request, reply) => {
    const message = links.readOpen(request.params.name.replace(/\.gif$/, ''));
    if (!message) return notOurs(reply);
    visits.record(message, { machine: isMachine(request) });
    return reply.headers(HEADERS).type('image/gif').send(IMAGE);
  });
  server.get<{ Params: { token: string; '*': string } }>(
    `${CLICK_PATH}:token/*`,
    (request, reply) => {
      const click = links.readClick(request.params.token, request.params['*']);
      if (!click) return notOurs(reply);
      visits.record(click, { machine: isMachine(request), url: click.url });
      return reply
        .code(302)
        .headers({ ...HEADERS, location: click.url })
        .send();
    },
  );
}

/** Each visit must reach us, and the next site learns nothing of where its visitor came from. */
const HEADERS = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'content-security-policy': "default-src 'none'",
};

/** One transparent pixel. */
const IMAGE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

function notOurs(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .headers(HEADERS)
    .type('text/plain; charset=utf-8')
    .send('This address is not complete. Open the message again and follow the link from there.\n');
}
