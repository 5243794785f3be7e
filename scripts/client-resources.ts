import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/**
 * The methods of the client library, generated from the OpenAPI document: one object per resource,
 * one method per operation that an API key can call. `listTemplateVersions` of `/templates/…` becomes
 * `templates.listVersions`.
 */

export const RESOURCES_FILE = 'sdk/src/resources.generated.ts';

interface Operation {
  operationId: string;
  summary: string;
  security?: Record<string, unknown>[];
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { required?: boolean };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

interface Schema {
  $ref?: string;
  properties?: Record<string, unknown>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const PREFIX = '/api/v1';

/** Operations that the client offers by hand, with more comfort. */
const BY_HAND = new Set(['streamEvents', 'waitForTestMessage']);

/** Names that the rule below would not give. */
const NAMES: Readonly<Record<string, string>> = {
  deleteInboundMessages: 'deleteMany',
  findWebhookDeliveries: 'list',
  findWebhookDelivery: 'get',
  sendTransactional: 'send',
  checkTransactional: 'check',
  dryRunTransactional: 'dryRun',
  sendRaw: 'sendRaw',
  sendBulk: 'sendBulk',
  sendBatch: 'sendBatch',
};

export function resourcesFile(): string {
  const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')) as Document;
  const methods = Object.entries(document.paths)
    .filter(([full]) => full.startsWith(`${PREFIX}/`))
    .flatMap(([full, operations]) =>
      Object.entries(operations)
        .filter(([, operation]) => isForKeys(operation) && !BY_HAND.has(operation.operationId))
        .map(([method, operation]) => ({
          resource: resourceOf(full),
          text: methodText(document, full.slice(PREFIX.length), method.toUpperCase(), operation),
        })),
    );
  const resources = [...Map.groupBy(methods, ({ resource }) => resource)].map(
    ([resource, group]) =>
      `    ${resource}: {\n${group.map(({ text }) => text).join('\n\n')}\n    },`,
  );
  return [
    '// Generated from the OpenAPI document by `npm run generate`. Do not edit.',
    "import type { Body, Item, PathValues, Query, RequestSettings, ResponseBody } from './operations.ts';",
    "import type { Caller } from './resource-caller.ts';",
    '',
    'export type Resources = ReturnType<typeof createResources>;',
    '',
    'export function createResources(caller: Caller) {',
    '  return {',
    ...resources,
    '  };',
    '}',
    '',
  ].join('\n');
}

/** Operations without `security` take the default: an API key or a session. */
function isForKeys({ security }: Operation): boolean {
  return security === undefined || security.some((one) => !('session' in one));
}

/** `/test/inbox/{id}` belongs to `testInbox`, everything else to its first segment. */
function resourceOf(full: string): string {
  const [first = '', second = ''] = full.slice(PREFIX.length + 1).split('/');
  return camelCase(first === 'test' ? `${first}-${second}` : first);
}

function methodText(document: Document, url: string, method: string, operation: Operation): string {
  const operationType = `'${method}', '${url}'`;
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const inQuery = parameters.filter((one) => one.in === 'query');
  const values = `PathValues<${operationType}>`;
  const path = inPath.map((name) => `${camelCase(name)}: ${values}['${name}']`);
  const { requestBody } = operation;
  const absent = requestBody?.required ? '' : ' | undefined = undefined';
  const body = requestBody ? [`body: Body<${operationType}>${absent}`] : [];
  const isQueryRequired = inQuery.some(({ required }) => required);
  const query =
    inQuery.length > 0 ? [`query: Query<${operationType}>${isQueryRequired ? '' : ' = {}'}`] : [];
  const given = [
    ...(inPath.length > 0
      ? [
          `path: { ${inPath.map((name) => (name === camelCase(name) ? name : `${name}: ${camelCase(name)}`)).join(', ')} }`,
        ]
      : []),
    ...(body.length > 0 ? ['body'] : []),
    ...(query.length > 0 ? ['query'] : []),
  ];
  const options = `{ ...options${given.map((one) => `, ${one}`).join('')} }`;
  const signature = [...path, ...body, ...query, 'options: RequestSettings = {}'].join(', ');
  return [
    `      /** ${operation.summary}: \`${method} ${url}\`. */`,
    `      ${methodName(url, operation)}: (${signature})${callText(document, operationType, url, operation, options)},`,
  ].join('\n');
}

function callText(
  document: Document,
  operationType: string,
  url: string,
  operation: Operation,
  options: string,
): string {
  const [method = ''] = operationType.split(',');
  if (isList(document, operation))
    return `: AsyncGenerator<Item<'${url}'>, void, undefined> => caller.all('${url}', ${options})`;
  if (isFile(operation))
    return `: Promise<Response> => caller.response(${method}, '${url}', ${options})`;
  return `: Promise<ResponseBody<${operationType}>> => caller.request(${method}, '${url}', ${options})`;
}

function successContent({ responses }: Operation): Record<string, { schema?: Schema }> | undefined {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  return success?.content;
}

/** Whether the response is a page with a cursor. */
function isList(document: Document, operation: Operation): boolean {
  const schema = successContent(operation)?.['application/json']?.schema;
  const named = schema?.$ref?.split('/').at(-1);
  const { properties = {} } =
    (named === undefined ? schema : document.components.schemas[named]) ?? {};
  return 'data' in properties && 'next_cursor' in properties;
}

/** Exports and mails are not JSON and may be large, so they are returned unread. */
function isFile(operation: Operation): boolean {
  const content = successContent(operation);
  return content !== undefined && !('application/json' in content);
}

/** The operation id without the name of the resource: `getMessageRaw` of `messages` is `getRaw`. */
function methodName(url: string, { operationId }: Operation): string {
  const known = NAMES[operationId];
  if (known !== undefined) return known;
  const plural = camelCase(resourceOf(`${PREFIX}${url}`));
  const noun = plural.charAt(0).toUpperCase() + plural.slice(1);
  const nouns = [noun, noun.replace(/s$/, ''), noun.replace(/ies$/, 'y'), `${noun}Message`];
  const longest = nouns
    .filter((one) => operationId.includes(one))
    .sort((a, b) => b.length - a.length)[0];
  return longest === undefined ? operationId : operationId.replace(longest, '');
}

function camelCase(text: string): string {
  return text.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
}
