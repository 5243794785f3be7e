import type { FastifyReply, FastifyRequest } from 'fastify';
import { PAGE_HEADERS } from '../docs/docs-routes.ts';
import { notFoundPage } from '../docs/page-frame.ts';

/** Browsers get an HTML page for an unknown path; API clients get a problem document. */
export function prefersHtml({ method, url, headers }: FastifyRequest): boolean {
  const reads = method === 'GET' || method === 'HEAD';
  // Browsers list text/html first on navigation; programs that accept anything do not list it.
  return reads && !url.startsWith('/api/') && /^\s*text\/html\b/i.test(headers.accept ?? '');
}

export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(404)
    .headers({ ...PAGE_HEADERS, 'x-request-id': request.id, vary: 'accept' })
    .type('text/html; charset=utf-8')
    .send(notFoundPage());
}
