import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding } from '../server/content-coding.ts';
import { DOCS } from './docs-paths.ts';
import type { DocsSite } from './docs-site.ts';

/**
 * The documentation at /docs: guides and API reference, every page also as Markdown, a search, and
 * llms.txt. Pages are plain HTML with one style sheet and one small script, and make no request to
 * any other host. Nothing is read or rendered at startup; each page is rendered on first use and
 * cached with its compressed form.
 */

export interface DocsDependencies {
  /** The OpenAPI document. */
  document: () => object;
  /** The folder that contains `docs` and `sdk`. */
  root: string;
}

interface CachedResponse {
  type: string;
  body: Buffer;
  gzipped: Buffer;
  etag: string;
}

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const SUGGESTIONS = 8;

/** The dashboard uses the icon, the font and the first script too. */
const ASSETS: Record<string, { type: string; parts?: string[] }> = {
  'style.css': { type: 'text/css; charset=utf-8', parts: ['tokens.css', 'style.css'] },
  'before-paint.js': { type: SCRIPT },
  'script.js': { type: SCRIPT },
  'icon.svg': { type: 'image/svg+xml' },
  'inter.woff2': { type: 'font/woff2' },
};

export function registerDocs(server: FastifyInstance, { document, root }: DocsDependencies): void {
  const cached = new Map<string, Promise<CachedResponse>>();
  let opening: Promise<DocsSite> | undefined;
  const site = (): Promise<DocsSite> => {
    opening ??= openSite(document(), root).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const serve = (name: string, type: string, make: () => string | Buffer | Promise<Buffer>) => {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      let page = cached.get(name);
      if (!page) {
        page = (async () => compressed(await make(), type))();
        page.catch(() => cached.delete(name));
        cached.set(name, page);
      }
      return send(request, reply, await page);
    };
  };

  for (const [file, { type, parts }] of Object.entries(ASSETS)) {
    server.get(
      `${DOCS}/${file}`,
      serve(file, type, () => joined(parts ?? [file])),
    );
  }
  for (const [file, make] of Object.entries(LLMS)) {
    server.get(`/${file}`, async (request, reply) => {
      const docs = await site();
      return serve(file, TEXT, () => make(docs))(request, reply);
    });
    server.get(`${DOCS}/${file}`, (_request, reply) => reply.redirect(`/${file}`, 308));
  }
  server.get(`${DOCS}/search`, async (request, reply) => {
    const page = await (await site()).searchPage(queryOf(request));
    return send(request, reply, await compressed(page, HTML));
  });
  server.get(`${DOCS}/search.json`, async (request, reply) => {
    const hits = await (await site()).search(queryOf(request), SUGGESTIONS);
    return send(request, reply, await compressed(JSON.stringify({ data: hits }), JSON_TYPE));
  });

  // Only known pages are cached: otherwise clients could fill the memory.
  const sendPage = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const name = request.url.split('?', 1)[0] as string;
    const docs = await site();
    const page = docs.page(name);
    if (page) return serve(name, HTML, () => docs.html(page))(request, reply);
    const source = name.endsWith('.md') ? docs.page(name.slice(0, -'.md'.length)) : undefined;
    if (source) return serve(name, MARKDOWN, () => source.markdown())(request, reply);
    reply.callNotFound();
    return reply;
  };
  server.get(DOCS, sendPage);
  server.get(`${DOCS}.md`, sendPage);
  server.get(`${DOCS}/`, (_request, reply) => reply.redirect(DOCS, 308));
  server.get(`${DOCS}/*`, sendPage);
}

/** Loaded on first use: most processes never show a page. */
async function openSite(document: object, root: string): Promise<DocsSite> {
  const { openDocsSite } = await import('./docs-site.ts');
  return openDocsSite(document, root);
}

const LLMS: Record<string, (site: DocsSite) => string> = {
  'llms.txt': (site) => site.llms(),
  'llms-full.txt': (site) => site.llmsFull(),
};

function queryOf(request: FastifyRequest): string {
  return new URL(request.url, 'http://localhost').searchParams.get('q') ?? '';
}

async function joined(files: readonly string[]): Promise<Buffer> {
  const folder = path.join(import.meta.dirname, 'assets');
  return Buffer.concat(await Promise.all(files.map((file) => readFile(path.join(folder, file)))));
}

const gzip = promisify(gzipCallback);

async function compressed(text: string | Buffer, type: string): Promise<CachedResponse> {
  const body = Buffer.from(text);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { type, body, gzipped: await gzip(body, { level: 9 }), etag };
}

/** The pages load nothing from elsewhere and cannot be framed. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

function send(request: FastifyRequest, reply: FastifyReply, cached: CachedResponse): FastifyReply {
  reply.headers({ ...PAGE_HEADERS, vary: 'accept-encoding', etag: cached.etag });
  if (request.headers['if-none-match']?.includes(cached.etag)) return reply.code(304).send();
  reply.type(cached.type);
  const coding = acceptedCoding(request.headers['accept-encoding']?.toString(), (one) => {
    return one === 'gzip';
  });
  if (coding === undefined) return reply.send(cached.body);
  return reply.header('content-encoding', coding).send(cached.gzipped);
}
