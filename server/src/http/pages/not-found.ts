import type { FastifyReply, FastifyRequest } from 'fastify';
import { PAGE_GUARDS } from '../reference/docs-routes.ts';
import { notFoundPage } from '../reference/error-pages.ts';

/** Who followed a link or mistyped an address sees a page; what reads JSON gets its problem. */
export function prefersHtml({ method, url, headers }: FastifyRequest): boolean {
  const reads = method === 'GET' || method === 'HEAD';
  // Browsers name html first, when somebody looks; programs that take anything do not name it.
  return reads && !url.startsWith('/api/') && /^\s*text\/html\b/i.test(headers.accept ?? '');
}

export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(404)
    .headers({ ...PAGE_GUARDS, 'x-request-id': request.id, vary: 'accept' })
    .type('text/html; charset=utf-8')
    .send(notFoundPage());
}
