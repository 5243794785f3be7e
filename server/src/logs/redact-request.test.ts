import { expect, test } from 'vitest';
import { redactPath, redactRequest } from './redact-request.ts';

const problem = (detail: string, code = 'validation_failed') => ({ code, detail, errors: [] });

function redacted(body: unknown, detail = 'No.', code?: string) {
  const sent = { body, bodyBytes: 100, query: {}, problem: problem(detail, code) };
  const { body: kept, problem: reported } = redactRequest(sent);
  return { body: JSON.parse(kept ?? 'null'), problem: JSON.parse(reported ?? 'null') };
}

test('secrets are replaced by the name of their field, at any depth', () => {
  expect(
    redacted({
      name: 'Shop',
      password: 'correct horse',
      nested: [{ apiKey: 'abc', clientSecret: { a: 1 }, access_token: null, Authorization: 'x' }],
    }).body,
  ).toEqual({
    name: 'Shop',
    password: '[redacted]',
    nested: [
      {
        apiKey: '[redacted]',
        clientSecret: '[redacted]',
        access_token: null,
        Authorization: '[redacted]',
      },
    ],
  });
});

test('variables and headers keep their names and lose their values', () => {
  expect(
    redacted({
      template_variables: { reset_link: 'https://x.example/r/1', user: { pin: 4711 } },
      headers: { 'X-Api-Token': 'abc' },
      TemplateModel: { code: '1' },
      'v:order': '7',
      'recipient-variables': '{"a@b.example":{"code":1}}',
    }).body,
  ).toEqual({
    template_variables: { reset_link: '[redacted]', user: '[redacted]' },
    headers: { 'X-Api-Token': '[redacted]' },
    TemplateModel: { code: '[redacted]' },
    'v:order': '[redacted]',
    'recipient-variables': '[redacted]',
  });
});

test('a secret is replaced where it is repeated, also in the error and across a cut', () => {
  const secret = 'tulip-freight-oboe';
  const html = `${'x'.repeat(495)}${secret} and more`;
  const { body, problem: reported } = redacted(
    { variables: { key: secret }, subject: `Use ${secret}!`, html },
    `"${secret}" is not a date.`,
  );
  expect(JSON.stringify([body, reported])).not.toMatch(/tulip|oboe/);
  expect(body.subject).toBe('Use [redacted]!');
  expect(reported).toEqual(problem('"[redacted]" is not a date.'));
});

test('anything that looks like a key is replaced', () => {
  const texts = [
    'pr_live_abcdefgh12345678',
    'pr_operator_abcdefgh1234',
    'whsec_c2VjcmV0c2VjcmV0',
    'Bearer abcdefghijkl',
  ];
  for (const text of texts) {
    expect(redacted({ note: `It is ${text}.` }).body.note).toMatch(/^It is \[redacted\]\.?$/);
    expect(redactPath(`/api/v1/x/${text}/y`)).toMatch(/^\/api\/v1\/x\/\[redacted\]/);
  }
  for (const address of ['jane%40example', 'jane@example']) {
    expect(redactPath(`/contacts/${address}/x?q=1`)).toBe('/contacts/[address]/x');
  }
  expect(redactPath('/api/v1/transactional/send?q=1')).toBe('/api/v1/transactional/send');
});

test('the error of the JSON parser does not quote the body', () => {
  const detail = `The body is not valid JSON: Unexpected token 'h', ..."word": hunter2"... is not valid JSON`;
  expect(redacted(undefined, detail, 'malformed_json').problem.detail).toBe(
    'The body is not valid JSON: Unexpected token.',
  );
});

test('text that PostgreSQL cannot read is replaced', () => {
  expect(redacted({ 'a\0': 'b\0\ud800', variables: { '\udc00': 1 } }).body).toEqual({
    'a\ufffd': 'b\ufffd\ufffd',
    variables: { '\ufffd': '[redacted]' },
  });
});

test('an entry stays small, whatever was sent', () => {
  const fields = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, n) => [`field${n}`, 'y'.repeat(400)]),
  );
  const deep = Array.from({ length: 60 }).reduce<unknown>((inner) => [inner], 'z');
  for (const body of [fields, { list: Array(5_000).fill('text') }, deep, 'w'.repeat(60_000)]) {
    const sent = { body, bodyBytes: 64 * 1024, query: {}, problem: problem('No.') };
    expect(redactRequest(sent).body?.length).toBeLessThan(40_000);
  }
  const large = { body: { a: 1 }, bodyBytes: 64 * 1024 + 1, query: {}, problem: undefined };
  expect(redactRequest(large)).toEqual({
    body: '"[65537 bytes, not kept]"',
    query: null,
    problem: null,
  });
  expect(redacted({ list: Array(21).fill(1) }).body.list.at(-1)).toBe('… 1 more');
});
