import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RecordedResponse } from './harness/response-log.ts';
import { type DocumentedOperation, operationsOf } from './harness/openapi-operations.ts';

/**
 * Holds what the server answered during the whole test run against the OpenAPI document: no answer
 * that is not documented, and a list of the documented ones that no test has seen. Run it after the tests:
 * `node server/test/compare-responses.ts FOLDER` with the folder that POSTRIDER_RESPONSES_DIR named.
 */

/** Answers to requests that reached no operation are promised for all of them at once. */
const WITHOUT_OPERATION = new Set(['not_found', 'method_not_allowed', 'malformed_request']);

/** No document promises our own faults; one test makes the database refuse a row to see one. */
const FORCED = new Set(['POST /api/v1/transactional/send 500 internal_error']);

const [folder = ''] = process.argv.slice(2);
const document: unknown = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8'),
);
const operations = operationsOf(document)
  .map((operation) => ({ ...operation, pattern: patternOf(operation) }))
  // Literal segments win over parameters, as in the router.
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
for (const line of wrong) console.error(`not documented: ${line}`);
for (const line of unseen) console.error(`never seen: ${line}`);
const total = operations.flatMap(promisesOf).length;
console.log(
  `${total - unseen.length} of ${total} documented answers seen, ${wrong.length} not documented`,
);
if (wrong.length > 0) process.exitCode = 1;

function check(answer: RecordedResponse): void {
  const operation = operations.find(
    (one) => one.method === answer.method && one.pattern.test(answer.path),
  );
  const said = `${answer.method} ${answer.path} ${answer.status} ${answer.code ?? ''}`;
  if (FORCED.has(said)) return;
  if (!operation) {
    if (!WITHOUT_OPERATION.has(answer.code ?? '')) wrong.push(said);
    return;
  }
  const isProblem = answer.mediaType === 'application/problem+json';
  const promise = `${operation.id} ${answer.status}${isProblem ? ` ${answer.code}` : ''}`;
  if (promisesOf(operation).includes(promise)) seen.add(promise);
  else if (!(answer.code === 'not_found' && answer.path.endsWith('/'))) wrong.push(said);
}

function promisesOf(operation: DocumentedOperation): string[] {
  return operation.statuses.flatMap((status) => {
    const codes = operation.problems.get(status);
    const name = `${operation.id} ${status}`;
    return codes ? codes.map((code) => `${name} ${code}`) : [name];
  });
}

function patternOf({ path: template }: DocumentedOperation): RegExp {
  const source = template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
