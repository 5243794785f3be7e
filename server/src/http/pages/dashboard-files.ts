import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, type Coding } from '../server/content-coding.ts';
import { PREVIEW_POLICIES, previewPage } from './email-preview.ts';

/**
 * Serves the dashboard's files under /app from memory. Files with a hash in their name never
 * change and are cached forever; every other path below /app returns index.html, which routes on
 * the client. The content security policy allows only files from this server: no inline script
 * or style, no other host, and no frame except the email preview, which has a stricter policy.
 */

export interface DashboardFiles {
  /** The output folder of `npm run build`. */
  folder: string;
}

interface StoredFile {
  type: string;
  /** Bodies by content coding; '' is the uncompressed file. */
  bodies: Map<string, Buffer>;
  immutable: boolean;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

const ENDINGS: Record<Coding, string> = { br: '.br', gzip: '.gz' };

const APP_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'x-dns-prefetch-control': 'off',
};

export function registerDashboard(server: FastifyInstance, { folder }: DashboardFiles): void {
  const files = readFiles(folder);
  const index = files.get('index.html');
  const sendPage = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const name = fileNameOf(request.url);
    const file = files.get(name);
    if (file) return sendFile(request, reply, file);
    // A missing asset belongs to an older build. Returning index.html for it would only fail
    // later.
    if (name.startsWith('assets/')) return reply.code(404).send();
    return index ? sendFile(request, reply, index) : sendNotBuilt(reply);
  };
  // The bare server URL leads to the dashboard.
  server.get('/', (_request, reply) => reply.redirect('/app', 302));
  server.get('/app', sendPage);
  server.get('/app/*', sendPage);
  for (const [name, policy] of Object.entries(PREVIEW_POLICIES)) {
    server.get(`/app/preview/${name}`, (_request, reply) =>
      reply
        .headers({
          ...SECURITY_HEADERS,
          'content-security-policy': policy,
          'cache-control': 'no-cache',
        })
        .type(TYPES['.html'] as string)
        .send(previewPage()),
    );
  }
}

/** The build that was read last: several servers in one process, as in tests, read it once. */
let lastRead: { build: string; files: Map<string, StoredFile> } | undefined;

function readFiles(folder: string): Map<string, StoredFile> {
  if (!existsSync(folder)) return new Map();
  // Each build has a folder of its own, which replaces the one of the build before.
  const { ino, ctimeMs } = statSync(folder);
  const build = `${folder} ${ino} ${ctimeMs}`;
  if (lastRead?.build !== build) lastRead = { build, files: readBuild(folder) };
  return lastRead.files;
}

function readBuild(folder: string): Map<string, StoredFile> {
  const files = new Map<string, StoredFile>();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const location = path.join(entry.parentPath, entry.name);
    const type = TYPES[path.extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const name = path.relative(folder, location).split(path.sep).join('/');
    const bodies = new Map([['', readFileSync(location)]]);
    for (const [coding, ending] of Object.entries(ENDINGS)) {
      if (existsSync(location + ending)) bodies.set(coding, readFileSync(location + ending));
    }
    files.set(name, { type, bodies, immutable: name.startsWith('assets/') });
  }
  return files;
}

function fileNameOf(url: string): string {
  const name = url.split(/[?#]/, 1)[0]?.replace(/^\/app\/?/, '') ?? '';
  return name === '' ? 'index.html' : name;
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: StoredFile): FastifyReply {
  const coding = acceptedCoding(String(request.headers['accept-encoding'] ?? ''), (one) =>
    file.bodies.has(one),
  );
  reply.headers({
    ...SECURITY_HEADERS,
    vary: 'accept-encoding',
    'content-security-policy': APP_POLICY,
    'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
  });
  if (coding) reply.header('content-encoding', coding);
  return reply.type(file.type).send(file.bodies.get(coding ?? ''));
}

function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .headers({ ...SECURITY_HEADERS, 'cache-control': 'no-store' })
    .type('text/plain; charset=utf-8')
    .send('The dashboard is not built. Run: npm run build\n');
}
