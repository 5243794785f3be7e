import { type ExecFileSyncOptions, execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SampleRequest, sampleRequest, samplesOf } from './code-samples.ts';
import { type ApiDocument, type DocumentedOperation, DocumentReader } from './document-reader.ts';

/**
 * Goal: every sample of every operation works when pasted, and all of them make the same request.
 * Method: each runs in its own language against a server that records what arrives. curl, TypeScript
 * and Python always run, as far as they are installed; `SAMPLES=all` adds Go, PHP, Ruby, C# (with .NET
 * or Mono) and Java, which take a second or more for each sample.
 */

const ROOT = path.resolve(import.meta.dirname, '../../../..');
const CLIENT = pathToFileURL(path.join(ROOT, 'sdk/src/index.ts')).href;
const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')) as ApiDocument;
const reader = new DocumentReader(document);
const run = promisify(execFile);

interface Arrived {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  type: string | undefined;
  body: string;
}

const arrived: Arrived[] = [];
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { authorization, 'content-type': type } = request.headers;
  const body = Buffer.concat(chunks).toString();
  arrived.push({ method: request.method, url: request.url, authorization, type, body });
  response.setHeader('Content-Type', 'application/json').end('{}');
});

let folder: string;
let baseUrl: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-samples-'));
  await writeFile(path.join(folder, 'contacts.ndjson'), '{"email":"jane@example.com"}\n');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** What no example contains, so that the notation of each language is tested too. */
const hostile: DocumentedOperation = {
  method: 'POST',
  path: '/api/v1/contacts/{id}',
  operation: {
    operationId: 'hostile',
    tags: [],
    summary: 'Everything that needs an escape',
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' }, example: 'a/b c' },
      { name: 'to', in: 'query', schema: { type: 'string' }, example: 'jane@example.com' },
    ],
    requestBody: {
      content: {
        'application/json': {
          schema: {},
          examples: {
            one: {
              value: {
                text: `it's "${'${name}'}" \`x\` $HOME #{y} \\ ünï\n\ttab`,
                'a key': [true, false, null, 1.5, 'null'],
                empty: { list: [], map: {} },
              },
            },
          },
        },
      },
    },
    responses: { 200: { description: '', content: { 'application/json': { schema: {} } } } },
  },
};

interface Shown {
  request: SampleRequest;
  code: string;
}

/** The samples of all operations in one language. */
function samplesIn(language: string): Shown[] {
  return [...reader.operations(), hostile].flatMap((placed) => {
    const media = placed.operation.requestBody?.content['application/json'];
    const body = Object.values(media?.examples ?? {})[0]?.value;
    const sample = samplesOf(placed, baseUrl, body).find(({ name }) => name === language);
    return sample ? [{ request: sampleRequest(placed, baseUrl, body), code: sample.code }] : [];
  });
}

function expectArrived(samples: readonly Shown[]): void {
  const got = arrived.splice(0);
  expect(got).toHaveLength(samples.length);
  for (const [at, { request, code }] of samples.entries()) {
    const { method, url = '', authorization, type, body } = got[at] as Arrived;
    expect([code, method, new URL(url, baseUrl).pathname, queryOf(url)]).toEqual([
      code,
      request.method,
      new URL(request.url).pathname,
      queryOf(request.url),
    ]);
    if (request.authentication === 'key') expect(authorization).toBe('Bearer pr_test_sample');
    if (request.body !== undefined) {
      expect(type).toMatch(/^application\/json\b/);
      expect(JSON.parse(body)).toEqual(request.body);
    }
    if (request.fileType !== undefined) {
      expect([type, body]).toEqual([request.fileType, '{"email":"jane@example.com"}\n']);
    }
  }
}

function queryOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url, 'http://localhost').searchParams);
}

function options(): ExecFileSyncOptions & { env: NodeJS.ProcessEnv } {
  return { cwd: folder, env: { ...process.env, API_KEY: 'pr_test_sample', SESSION: 'a=b' } };
}

it('curl', async () => {
  const samples = samplesIn('curl');
  expect(samples.length).toBeGreaterThan(100);
  const quiet = 'set -e\ncurl() { command curl --silent --show-error "$@"; }\n';
  await run('sh', ['-c', quiet + samples.map(({ code }) => code).join('\n')], options());
  expectArrived(samples);
});

it('TypeScript', async () => {
  const samples = samplesIn('TypeScript');
  const files = samples.map((_, index) => `sample-${index}.ts`);
  for (const [index, { code }] of samples.entries()) {
    const text = code.replace(`'postrider-client'`, `'${CLIENT}'`);
    await writeFile(path.join(folder, files[index] as string), text);
  }
  const all = files.map((file) => `await import('./${file}');`).join('\n');
  await writeFile(path.join(folder, 'all.mjs'), all);
  await run(process.execPath, ['all.mjs'], options());
  expectArrived(samples);
});

const hasRequests = isInstalled('python3', ['-c', 'import requests']);

it('Python, if it is installed with requests', async () => {
  if (!hasRequests) return;
  const samples = samplesIn('Python');
  const script = 'import json, sys\nfor code in json.load(open("samples.json")): exec(code, {})\n';
  await writeFile(
    path.join(folder, 'samples.json'),
    JSON.stringify(samples.map(({ code }) => code)),
  );
  await run('python3', ['-c', script], options());
  expectArrived(samples);
});

/** Each sample is a program of its own. */
const COMPILERS: Record<string, { file: string; command: string; arguments: string[] }> = {
  Go: { file: 'main.go', command: 'go', arguments: ['run'] },
  PHP: { file: 'sample.php', command: 'php', arguments: [] },
  Ruby: { file: 'sample.rb', command: 'ruby', arguments: [] },
  'C#': { file: 'Sample.cs', command: 'dotnet', arguments: ['run'] },
  Java: { file: 'Sample.java', command: 'java', arguments: [] },
};

it.each(Object.entries(COMPILERS))(
  '%s, with SAMPLES=all',
  async (language, compiler) => {
    const samples = samplesIn(language);
    expect(samples.length).toBeGreaterThan(80);
    if (process.env.SAMPLES !== 'all') return;
    if (language === 'C#' && !isInstalled('dotnet', ['--version'])) {
      await runWithMono(samples);
      expectArrived(samples);
      return;
    }
    const version = language === 'Go' ? 'version' : '--version';
    expect([compiler.command, isInstalled(compiler.command, [version])]).toEqual([
      compiler.command,
      true,
    ]);
    const place = path.join(folder, compiler.command);
    await mkdir(place);
    for (const { code } of samples) {
      await writeFile(path.join(place, compiler.file), code);
      await run(compiler.command, [...compiler.arguments, compiler.file], {
        ...options(),
        cwd: place,
      });
    }
    expectArrived(samples);
  },
  600_000,
);

/**
 * Debian has no .NET, but Mono, whose compiler is older: the same code without the statements that are
 * newer than C# 7, all samples in one program.
 */
async function runWithMono(samples: readonly Shown[]): Promise<void> {
  const imports = new Set(['System', 'System.Net.Http', 'System.Threading.Tasks']);
  const methods = samples.map(({ code }, index) => {
    const statements = code
      .replaceAll(/^using ([\w.]+);\n/gm, (_, name: string) => {
        imports.add(name);
        return '';
      })
      .replaceAll('using var', 'var')
      .replaceAll('HttpMethod.Patch', 'new HttpMethod("PATCH")')
      .replaceAll(/"""\n(.*?)\n *"""/gs, (_, text: string) => `@"${text.replaceAll('"', '""')}"`);
    return `static async Task Sample${index}() {\n${statements}\n}`;
  });
  const calls = samples.map((_, index) => `Sample${index}().Wait();`);
  const program = [
    ...[...imports].map((name) => `using ${name};`),
    'static class Samples {',
    ...methods,
    `static void Main() {\n${calls.join('\n')}\n}\n}`,
  ];
  await writeFile(path.join(folder, 'Samples.cs'), program.join('\n'));
  await run('mcs', ['-langversion:7', '-r:System.Net.Http.dll', 'Samples.cs'], options());
  await run('mono', ['Samples.exe'], options());
}

function isInstalled(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
