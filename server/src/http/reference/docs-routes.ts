import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiDocument, DocumentReader } from './document-reader.ts';
import { errorPages, notFoundPage } from './error-pages.ts';
import { referencePage } from './reference-page.ts';

/**
 * The API reference at /docs, rendered from the OpenAPI document: plain pages with one style
 * sheet and one small script, and no request to any other host. Each page is rendered on first
 * use and cached with its compressed form.
 */

export interface DocsDependencies {
  /** The OpenAPI document. */
  document: () => object;
}

interface CachedResponse {
  status: number;
  type: string;
  body: Buffer;
  gzipped: Buffer;
  etag: string;
}

export function registerDocs(server: FastifyInstance, { document }: DocsDependencies): void {
  const cached = new Map<string, Promise<CachedResponse>>();
  let reader: DocumentReader | undefined;
  const read = (): DocumentReader => (reader ??= new DocumentReader(document() as ApiDocument));
  let errors: Map<string, string> | undefined;

  const serve = (name: string, make: () => CachedResponse | Promise<CachedResponse>) => {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      let page = cached.get(name);
      if (!page) {
        page = Promise.resolve().then(make);
        page.catch(() => cached.delete(name));
        cached.set(name, page);
      }
      return send(request, reply, await page);
    };
  };

  server.get(
    '/docs',
    serve('/docs', () => page(referencePage(read()))),
  );
  server.get('/docs/', (_request, reply) => reply.redirect('/docs', 308));
  for (const [file, { type, parts }] of Object.entries(ASSETS)) {
    server.get(
      `/docs/${file}`,
      serve(file, async () => keep(await joined(parts ?? [file]), type)),
    );
  }
  const errorPage = (request: FastifyRequest, reply: FastifyReply) => {
    errors ??= errorPages(read());
    const name = request.url.split('?', 1)[0] as string;
    const text = errors.get(name);
    // All unknown pages share one cache entry; otherwise clients could fill the memory.
    return text === undefined
      ? serve('not found', () => page(notFoundPage(), 404))(request, reply)
      : serve(name, () => page(text))(request, reply);
  };
  server.get('/docs/errors', errorPage);
  server.get('/docs/errors/:code', errorPage);
}

const SCRIPT = 'text/javascript; charset=utf-8';

/** The dashboard uses this icon and script too. */
const ASSETS: Record<string, { type: string; parts?: string[] }> = {
  'style.css': { type: 'text/css; charset=utf-8', parts: ['tokens.css', 'style.css'] },
  'before-paint.js': { type: SCRIPT },
  'script.js': { type: SCRIPT },
  'icon.svg': { type: 'image/svg+xml' },
};

async function joined(files: readonly string[]): Promise<Buffer> {
  const folder = path.join(import.meta.dirname, 'assets');
  return Buffer.concat(await Promise.all(files.map((file) => readFile(path.join(folder, file)))));
}

const gzip = promisify(gzipCallback);

function page(text: string, status = 200): Promise<CachedResponse> {
  return keep(Buffer.from(text), 'text/html; charset=utf-8', status);
}

async function keep(body: Buffer, type: string, status = 200): Promise<CachedResponse> {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { status, type, body, gzipped: await gzip(body, { level: 9 }), etag };
}

/** The pages load nothing from elsewhere and cannot be framed. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

function send(request: FastifyRequest, reply: FastifyReply, cached: CachedResponse): FastifyReply {
  reply.headers({ ...PAGE_HEADERS, vary: 'accept-encoding', etag: cached.etag });
  if (request.headers['if-none-match']?.includes(cached.etag)) return reply.code(304).send();
  reply.code(cached.status).type(cached.type);
  const acceptsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (!acceptsGzip) return reply.send(cached.body);
  return reply.header('content-encoding', 'gzip').send(cached.gzipped);
}
