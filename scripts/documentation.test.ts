import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { COMMANDS } from '../server/src/cli/commands.ts';
import { SETTINGS } from '../server/src/config/settings.ts';
import { type ApiDocument, DocumentReader } from '../server/src/http/docs/document-reader.ts';
import {
  codeBlocks,
  codeOf,
  commandsIn,
  documentFiles,
  requestsIn,
  responseAfter,
} from './documentation.ts';
import { defaultDocument } from './openapi.ts';
import { ROOT } from './project-files.ts';

/**
 * Goal: README.md, the guides and the client's README name only what exists: commands with their
 * options, npm scripts, settings, and operations with valid bodies. Links are checked by
 * hygiene.ts in the repository, and by docs-routes.test.ts as pages.
 */

const FILES = documentFiles();
const COMMAND_NAMES = new Map(COMMANDS.map((command) => [command.name, command]));

it('reads commands as a shell does', () => {
  const code = `export A=b   # it's a comment

curl -X PATCH http://localhost:3000/api/v1/a/b?c=d \\
  -H "If-Match: \\"x\\"" -d '{
    "e": "it'\\''s"
  }'
npx postrider keys list
`;
  expect(commandsIn(code)).toHaveLength(3);
  expect(requestsIn(code)).toMatchObject([
    { method: 'PATCH', path: '/a/b', headers: { 'if-match': '"x"' } },
  ]);
  expect(JSON.parse(requestsIn(code)[0]?.body ?? '')).toEqual({ e: "it's" });
});

it('finds the response that a page shows for a command', () => {
  const text =
    '```sh\na\nb\n```\n\n```json\n{}\n```\n\n```sh\nc\n```\n\nText.\n\n```json\n[]\n```\n';
  const blocks = codeBlocks({ file: 'a.md', text });
  expect(responseAfter(blocks, 0)?.code).toBe('{}\n');
  expect(responseAfter(blocks, 2)).toBe(undefined);
});

it('names commands and options that exist', () => {
  const found = FILES.flatMap((file) =>
    codeOf(file).flatMap((code) =>
      [
        ...code.matchAll(
          /(?<![\w/.@-])postrider ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)(?=[\s`"'.,)]|$)([^\n#]*)/g,
        ),
      ]
        // `docker compose … exec postrider postrider …` names a service first.
        .filter(([, name = '']) => !name.startsWith('postrider'))
        .map(([text, name = '', rest = '']) => ({ file: file.file, text, name, rest })),
    ),
  );
  expect(found.length).toBeGreaterThan(40);
  const unknown = found.filter(({ name, rest }) => {
    const command = COMMAND_NAMES.get(name) ?? COMMAND_NAMES.get(name.split(' ')[0] ?? '');
    if (!command) return true;
    const unquoted = rest.replaceAll(/"[^"]*"|'[^']*'/g, '');
    const options = [...unquoted.matchAll(/(?<=\s)--([a-z][a-z-]*)/g)].map(
      (match) => match[1] ?? '',
    );
    const known = ['json', 'help', ...Object.keys(command.options ?? {})];
    return options.some((option) => !known.includes(option));
  });
  expect(unknown).toEqual([]);
});

it('names npm scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const files = [
    ...FILES,
    { file: 'CONTRIBUTING.md', text: readFileSync(path.join(ROOT, 'CONTRIBUTING.md'), 'utf8') },
  ];
  const named = files.flatMap((file) =>
    codeOf(file).flatMap((code) =>
      [...code.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map((match) => ({
        file: file.file,
        script: match[1] ?? match[2] ?? '',
      })),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ script }) => !(script in scripts))).toEqual([]);
});

/** Variables of other programs and of single commands, and those that examples choose themselves. */
const FOREIGN =
  /^(?:API_KEY|LIVE_API_KEY|POSTRIDER_(?:KEY|URL|API_KEY)|WEBHOOK_SECRET|POSTMARK_(?:TOKEN|API_TEST)|NODE_ENV|RESEND_BASE_URL|PP2_TYPE_SSL|MOVE_TO_DATABASE_(?:URL|SCHEMA)|(?:AMAZON|AWS|BENCH|EMAIL|MAIL)_[A-Z0-9_]+|MAILER_DSN|PR(?:LIVE|TEST))$/;

it('names settings that exist', () => {
  const named = FILES.flatMap((file) =>
    codeOf(file).flatMap((code) =>
      [
        ...code.matchAll(/^([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:$|(?==))/gm),
        ...code.matchAll(/(?<=^|\s)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)(?==\S)/gm),
      ].map((match) => ({ file: file.file, setting: match[1] ?? '' })),
    ),
  );
  expect(named.length).toBeGreaterThan(100);
  const unknown = named.filter(({ setting }) => !(setting in SETTINGS) && !FOREIGN.test(setting));
  expect(unknown).toEqual([]);
});

it('shows requests that the API accepts', () => {
  const document = JSON.parse(JSON.stringify(defaultDocument())) as ApiDocument;
  const operations = new DocumentReader(document).operations();
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  ajv.addSchema(document, 'document');
  const requests = FILES.flatMap((file) =>
    codeBlocks(file)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ code }) => requestsIn(code).map((request) => ({ ...request, file: file.file }))),
  );
  expect(requests.length).toBeGreaterThan(15);
  for (const { file, method, path: called, body, command } of requests) {
    const found = operations.find(
      (one) =>
        one.method === method &&
        new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(`/api/v1${called}`),
    );
    expect([file, command, found?.operation.operationId]).not.toContain(undefined);
    if (body === undefined || body.startsWith('$')) continue;
    const pointer = `#/paths/${found?.path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
    const validate = ajv.compile({
      $ref: `document${pointer.replaceAll(/[{}]/g, encodeURIComponent)}`,
    });
    expect([file, command, validate(JSON.parse(body)), validate.errors]).toEqual([
      file,
      command,
      true,
      null,
    ]);
  }
});
