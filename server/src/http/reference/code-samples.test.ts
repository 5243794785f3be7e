import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { samplesOf } from './code-samples.ts';
import type { DocumentedOperation } from './document-reader.ts';

/** Goal: the samples work when pasted. Method: a shell and a parser run them. */

const placed: DocumentedOperation = {
  method: 'POST',
  path: '/api/v1/widgets/{id}',
  operation: {
    operationId: 'createWidget',
    tags: ['Widgets'],
    summary: 'Create a widget',
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' }, example: 'a/b c' },
      { name: 'to', in: 'query', schema: { type: 'string' }, example: 'jane@example.com' },
    ],
    requestBody: { content: { 'application/json': { schema: {} } } },
    responses: {},
  },
};

const body = {
  text: `it's "${'${name}'}" \`x\` $HOME`,
  yes: true,
  no: null,
  list: [false, 'null'],
};
const url = 'https://mail.example.org/api/v1/widgets/a%2Fb%20c?to=jane@example.com';

function sample(name: string): string {
  const found = samplesOf(placed, 'https://mail.example.org', body).find(
    (one) => one.name === name,
  );
  return found?.code ?? '';
}

it('curl', () => {
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\nAPI_KEY=k\n${sample('curl')}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
  const [address, ...rest] = words;
  expect(address).toBe(url);
  expect(rest.slice(0, 4)).toEqual([
    '-H',
    'Authorization: Bearer k',
    '-H',
    'Content-Type: application/json',
  ]);
  expect(rest[4]).toBe('-d');
  expect(JSON.parse(rest[5] as string)).toEqual(body);
});

it('Node', async () => {
  const calls: unknown[][] = [];
  const run = new Function(
    'fetch',
    'process',
    `return (async () => { ${sample('Node')} return data; })()`,
  );
  const response = await run(
    async (...call: unknown[]) => {
      calls.push(call);
      return { json: async () => 'response' };
    },
    { env: { API_KEY: 'k' } },
  );
  expect(response).toBe('response');
  const [address, options] = calls[0] as [
    string,
    { method: string; headers: object; body: string },
  ];
  expect(address).toBe(url);
  expect(options).toMatchObject({ method: 'POST', headers: { Authorization: 'Bearer k' } });
  expect(JSON.parse(options.body)).toEqual(body);
});

it('Python', () => {
  const code = sample('Python');
  expect(code).toContain(`requests.post(\n    "${url}",`);
  expect(code).toContain('"yes": True,');
  expect(code).toContain('"no": None,');
  expect(code).toMatch(/\[\s+False,\s+"null"\s+\]/);
});
