import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorPages, notFoundPage } from './error-pages.ts';
import { referencePage } from './page.ts';
import { type ApiDocument, Reader } from './reader.ts';

/**
 * The reference at /docs, rendered here from the OpenAPI document: plain pages with one style sheet
 * and one small script of our own, and no request to anybody else. Each is made when it is first
 * asked for, and kept with its compressed form.
 */

export interface DocsParts {
  /** The OpenAPI document. */
  document: () => object;
}

interface Kept {
  status: number;
  type: string;
  body: Buffer;
  gzipped: Buffer;
  etag: string;
}

export function addDocs(server: FastifyInstance, { document }: DocsParts): void {
  const kept = new Map<string, Promise<Kept>>();
  let reader: Reader | undefined;
  const read = (): Reader => (reader ??= new Reader(document() as ApiDocument));
  let errors: Map<string, string> | undefined;

  const answer = (name: string, make: () => Kept | Promise<Kept>) => {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      let page = kept.get(name);
      if (!page) {
        page = Promise.resolve().then(make);
        page.catch(() => kept.delete(name));
        kept.set(name, page);
      }
      return send(request, reply, await page);
    };
  };

  server.get(
    '/docs',
    answer('/docs', () => page(referencePage(read()))),
  );
  server.get('/docs/', (_request, reply) => reply.redirect('/docs', 308));
  for (const [file, { type, parts }] of Object.entries(ASSETS)) {
    server.get(
      `/docs/${file}`,
      answer(file, async () => keep(await joined(parts ?? [file]), type)),
    );
  }
  const errorPage = (request: FastifyRequest, reply: FastifyReply) => {
    errors ??= errorPages(read());
    const name = request.url.split('?', 1)[0] as string;
    const text = errors.get(name);
    // Not by its own name: strangers could fill the memory with pages that do not exist.
    return text === undefined
      ? answer('not found', () => page(notFoundPage(), 404))(request, reply)
      : answer(name, () => page(text))(request, reply);
  };
  server.get('/docs/errors', errorPage);
  server.get('/docs/errors/:code', errorPage);
}

const SCRIPT = 'text/javascript; charset=utf-8';

/** The dashboard takes its icon and its first script from here too. */
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

function page(text: string, status = 200): Promise<Kept> {
  return keep(Buffer.from(text), 'text/html; charset=utf-8', status);
}

async function keep(body: Buffer, type: string, status = 200): Promise<Kept> {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { status, type, body, gzipped: await gzip(body, { level: 9 }), etag };
}

/** The pages load nothing but themselves, and nobody may put them in a frame. */
export const PAGE_GUARDS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

function send(request: FastifyRequest, reply: FastifyReply, kept: Kept): FastifyReply {
  reply.headers({ ...PAGE_GUARDS, vary: 'accept-encoding', etag: kept.etag });
  if (request.headers['if-none-match']?.includes(kept.etag)) return reply.code(304).send();
  reply.code(kept.status).type(kept.type);
  const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (!takesGzip) return reply.send(kept.body);
  return reply.header('content-encoding', 'gzip').send(kept.gzipped);
}
