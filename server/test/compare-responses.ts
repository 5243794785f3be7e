import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type DocumentedOperation, operationsOf } from './harness/http/openapi-operations.ts';
import type { RecordedResponse } from './harness/http/response-log.ts';

/**
 * Compares all responses recorded during the test run with the OpenAPI document: fails on undocumented
 * responses and lists documented ones that no test has produced. Run it after the tests:
 * `node server/test/compare-responses.ts FOLDER`, with the folder given as POSTRIDER_RESPONSES_DIR.
 */

/** Errors of requests that match no operation are documented once for all operations. */
const WITHOUT_OPERATION = new Set(['not_found', 'method_not_allowed', 'malformed_request']);

/** Documented for every operation, and produced by bugs only. */
const INTERNAL_ERROR = 'internal_error';

/** The only 500 that a test may see: it makes the database reject a row. */
const FORCED = new Set(['POST /api/v1/transactional/send 500 internal_error']);

const [folder = ''] = process.argv.slice(2);
const document: unknown = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8'),
);
const operations = operationsOf(document)
  .map((operation) => ({ ...operation, pattern: patternOf(operation) }))
  // Literal segments take precedence over parameters, as in the router.
  .sort((a, b) => a.path.split('{').length - b.path.split('{').length);
const noted = new Map(
  readdirSync(folder)
    .flatMap((file) => readFileSync(path.join(folder, file), 'utf8').trim().split('\n'))
    .map((line) => [line, JSON.parse(line) as RecordedResponse]),
);

const seen = new Set<string>();
const wrong: string[] = [];
for (const answer of noted.values()) check(answer);
const unseen = operations.flatMap((operation) =>
  promisesOf(operation).filter((promise) => !seen.has(promise)),
);
for (const line of wrong) console.error(`undocumented: ${line}`);
for (const line of unseen) console.error(`not covered by tests: ${line}`);
const total = operations.flatMap(promisesOf).length;
console.log(
  `${total - unseen.length} of ${total} documented responses seen, ${wrong.length} undocumented`,
);
if (wrong.length > 0) process.exitCode = 1;

function check(answer: RecordedResponse): void {
  const operation = operations.find(
    (one) => one.method === answer.method && one.pattern.test(answer.path),
  );
  const description = `${answer.method} ${answer.path} ${answer.status} ${answer.code ?? ''}`;
  if (FORCED.has(description)) return;
  // The server does not look for an operation then.
  if (answer.code === 'malformed_request' && !isDecodable(answer.path)) return;
  if (!operation) {
    if (!WITHOUT_OPERATION.has(answer.code ?? '')) wrong.push(description);
    return;
  }
  const isProblem = answer.mediaType === 'application/problem+json';
  const promise = `${operation.id} ${answer.status}${isProblem ? ` ${answer.code}` : ''}`;
  if (promisesOf(operation).includes(promise)) seen.add(promise);
  else if (!(answer.code === 'not_found' && answer.path.endsWith('/'))) wrong.push(description);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function promisesOf(operation: DocumentedOperation): string[] {
  return operation.statuses.flatMap((status) => {
    const codes = operation.problems.get(status);
    const name = `${operation.id} ${status}`;
    const expected = codes?.filter((code) => code !== INTERNAL_ERROR);
    return expected ? expected.map((code) => `${name} ${code}`) : [name];
  });
}

function patternOf({ path: template }: DocumentedOperation): RegExp {
  const source = template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
