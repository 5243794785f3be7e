import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { fillPath } from '../../harness/http/openapi-operations.ts';

/**
 * No body, query or path causes a 5xx or an undocumented response. Values are generated from the schemas of
 * the served OpenAPI document and mutated: wrong types, missing and extra fields, unusual text, huge
 * numbers.
 */

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  format?: string;
  examples?: unknown[];
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

interface Described {
  operationId: string;
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

/** Responds late by design. */
const LONG_POLLS = new Set(['waitForTestMessage', 'streamEvents']);
const RUNS = Number(process.env.FUZZ_RUNS ?? 20);

let app: TestApp;
let document: Document;
beforeAll(async () => {
  app = await startApp();
  document = (await (await fetch(`${app.url}/api/v1/openapi.json`)).json()) as Document;
});
afterAll(() => app[Symbol.asyncDispose]());

const oddText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\r\n',
    '${',
    '{{',
    '{% if',
    '{{ a | nope }}',
    '__proto__',
    "';--",
    '🙂',
  ),
  fc.constantFrom('a@b.co', 'x@example.com\r\nBcc: y@example.com', '../../etc/passwd', '%00', '-1'),
  fc.constantFrom('2030-01-01T00:00:00Z', '1e999', 'msg_00000000000000000000000000'),
);

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  fc.constantFrom(null, true, 0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER, [], {}, [[]], [null]),
  fc.jsonValue({ maxDepth: 3 }),
);

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] as Schema);
}

/** Mostly values that match the schema, sometimes others. */
function bent(given: Schema, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 8, arbitrary: fitting(resolved(given), depth) },
    { weight: 1, arbitrary: oddValue },
  );
}

function fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (depth > 6) return fc.constant(null);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => bent(one, depth + 1)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'object':
      return fittingObject(schema, depth);
    case 'array':
      return fc.array(bent(schema.items ?? {}, depth + 1), {
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case 'string':
      return fittingText(schema);
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000 }),
        fc.integer(),
      );
    case 'boolean':
      return fc.boolean();
    default:
      return oddValue;
  }
}

function fittingText(schema: Schema): fc.Arbitrary<unknown> {
  const examples = schema.examples ?? [];
  if (schema.format === 'email') examples.push('jane@example.com');
  if (schema.format === 'date-time') examples.push('2027-01-01T00:00:00Z');
  return examples.length > 0 ? fc.oneof(fc.constantFrom(...examples), oddText) : oddText;
}

function fittingObject(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const entries = Object.entries(schema.properties ?? {});
  const fields = Object.fromEntries(entries.map(([name, inner]) => [name, bent(inner, depth + 1)]));
  const requiredKeys = schema.required ?? [];
  const whole = fc.record(fields, { requiredKeys: requiredKeys.filter((key) => key in fields) });
  const open = fc.dictionary(oddText, oddValue, { maxKeys: 3 });
  if (entries.length === 0) return open;
  return fc.oneof(
    { weight: 6, arbitrary: whole },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.tuple(whole, open).map(([a, b]) => ({ ...a, ...b })) },
  );
}

test('every response to generated input is documented', { timeout: 600_000 }, async () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      if (LONG_POLLS.has(described.operationId)) continue;
      await fuzz(path, method.toUpperCase(), described);
    }
  }
});

/** As query text; JSON, because an object may have an invalid `toString`. */
function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function fuzz(path: string, method: string, described: Described): Promise<void> {
  const query = fc.record(
    Object.fromEntries(
      (described.parameters ?? [])
        .filter((parameter) => parameter.in === 'query' && parameter.name !== 'metadata')
        .map(({ name, schema }) => [name, bent(schema).map(asText)]),
    ),
    { requiredKeys: [] },
  );
  const json = described.requestBody?.content['application/json'];
  const body = json ? bent(json.schema) : fc.constant(undefined);
  const id = fc.oneof(oddText, fc.constantFrom('none', 'jane@example.com', 'welcome'));
  await fc.assert(
    fc.asyncProperty(query, body, id, async (queryParameters, sent, name) => {
      const search = new URLSearchParams(queryParameters as Record<string, string>).toString();
      // Dot segments would be removed from the path before the request is sent.
      const url = fillPath(path, /^\.*$/.test(name) ? 'x' : name) + (search ? `?${search}` : '');
      const answer = await app.call(method, url, sent === undefined ? {} : { body: sent });
      const documented = Object.keys(described.responses).map(Number);
      const passing = path.includes('{') ? [...documented, 404] : documented;
      expect(
        passing.includes(answer.status),
        `${method} ${url} with ${JSON.stringify(sent)?.slice(0, 500)} got ${answer.status} ${answer.text.slice(0, 500)}`,
      ).toBe(true);
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  );
}

test('timestamps at the limits of the calendar are accepted or rejected', async () => {
  const body = { email: `edge-${Date.now()}@example.com` };
  const { id } = (await app.call('POST', '/suppressions', { body })).json;
  const edges = [
    ...['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00Z'],
    ...['0001-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59', '2090-02-30T00:00:00Z'],
  ];
  for (const expires_at of edges) {
    const expected = expires_at === edges[0] ? [200, 201] : [422, 422];
    const changed = await app.call('PATCH', `/suppressions/${id}`, { body: { expires_at } });
    const made = await app.call('POST', '/api-keys', { body: { name: 'Edge', expires_at } });
    expect([expires_at, changed.status, made.status]).toEqual([expires_at, ...expected]);
  }
  for (const list of ['events', 'messages', 'contacts', 'suppressions']) {
    for (const bound of [`created_before=${edges[0]}`, 'created_after=0001-01-01T00:00:00Z']) {
      const url = `/${list}?${bound}`;
      expect([url, (await app.call('GET', url)).status]).toEqual([url, 200]);
    }
  }
  for (const time of edges) {
    for (const interval of ['minute', 'hour', 'day']) {
      for (const side of ['from', 'to']) {
        const url = `/stats?interval=${interval}&${side}=${encodeURIComponent(time)}`;
        expect([url, (await app.call('GET', url)).status < 500]).toEqual([url, true]);
      }
    }
  }
});

test('filter output can be stored', async () => {
  for (const made of ['{{ "AAAA" | base64_decode }}', '{{ "%00" | url_decode | raw }}']) {
    const body = {
      to: { email: 'jane@example.com' },
      from: { email: 'hello@example.org' },
      ...{ subject: `a${made}b`, html: `<p>a${made}b</p>`, text: `a${made}b` },
      headers: { 'X-Made': `a${made}b` },
    };
    const { status, json } = await app.call('POST', '/transactional/send', { body });
    expect([made, status]).toEqual([made, 202]);
    const content = await app.call('GET', `/messages/${json.id}/content`);
    expect(content.json.text).toMatch(/^a\ufffd+b$/);
  }
});

test('a version number beyond the column’s range is 404', async () => {
  const key = `counted-${Date.now()}`;
  await app.call('POST', '/templates', {
    body: { key, name: 'C', subject: 'S', html: '<p>x</p>' },
  });
  expect((await app.call('POST', `/templates/${key}/publish`, { body: {} })).status).toBe(200);
  for (const version of [2, 2 ** 31 - 1, 2 ** 31, 1e15, 1e300]) {
    const send = {
      to: { email: 'jane@example.com' },
      from: { email: 'hello@example.org' },
      ...{ template_key: key, template_version: version },
    };
    const statuses = [
      (await app.call('POST', '/transactional/send', { body: send })).status,
      (await app.call('POST', `/templates/${key}/publish`, { body: { version } })).status,
      (await app.call('POST', `/templates/${key}/render`, { body: { version } })).status,
    ];
    expect([version, ...statuses]).toEqual([version, 422, 422, 422]);
  }
});
