import type { ApiParameter, DocumentedOperation } from './document-reader.ts';
import type { Language } from './highlight.ts';

/** The same request as curl, Node and Python samples. */

export interface Sample {
  name: string;
  language: Language;
  code: string;
}

export function samplesOf(
  { method, path, operation }: DocumentedOperation,
  baseUrl: string,
  body: unknown,
): Sample[] {
  const types = Object.keys(operation.requestBody?.content ?? {});
  const isFile = types.length > 0 && !types.includes('application/json');
  const request = {
    method,
    url:
      baseUrl +
      path.replaceAll(/\{(\w+)\}/g, (_, name) => exampleFor(operation.parameters, name)) +
      queryOf(operation.parameters),
    needsKey: operation.security === undefined || operation.security.length > 0,
    body: isFile ? undefined : body,
    fileType: isFile ? types[0] : undefined,
  };
  return [
    { name: 'curl', language: 'shell', code: curl(request) },
    { name: 'Node', language: 'javascript', code: node(request) },
    { name: 'Python', language: 'python', code: python(request) },
  ];
}

interface SampleRequest {
  method: string;
  url: string;
  needsKey: boolean;
  body: unknown;
  /** The media type of a body that is a file. */
  fileType: string | undefined;
}

function fileName(type: string): string {
  return `contacts.${type.endsWith('csv') ? 'csv' : 'ndjson'}`;
}

function exampleFor(parameters: readonly ApiParameter[] = [], name: string): string {
  const example = parameters.find((one) => one.in === 'path' && one.name === name)?.example;
  return encodeURIComponent(String(example ?? name));
}

/** Only parameters with an example are shown. */
function queryOf(parameters: readonly ApiParameter[] = []): string {
  const shown = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const pairs = shown.map((one) => `${one.name}=${encodeURIComponent(String(one.example))}`);
  return pairs.length > 0 ? `?${pairs.join('&').replaceAll('%40', '@')}` : '';
}

function curl({ method, url, needsKey, body, fileType }: SampleRequest): string {
  const quoted = /[?&]/.test(url) ? `'${url}'` : url;
  const implied = method === 'GET' || (method === 'POST' && (body ?? fileType) !== undefined);
  const lines = [implied ? `curl ${quoted}` : `curl -X ${method} ${quoted}`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $API_KEY"`);
  if (body !== undefined) {
    lines.push(`-H "Content-Type: application/json"`);
    const text = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ');
    lines.push(`-d '${text.replaceAll("'", `'\\''`)}'`);
  }
  if (fileType !== undefined) {
    lines.push(`-H "Content-Type: ${fileType}"`, `--data-binary @${fileName(fileType)}`);
  }
  return lines.join(' \\\n  ');
}

function node({ method, url, needsKey, body, fileType }: SampleRequest): string {
  const headers = [
    ...(needsKey ? ['    Authorization: `Bearer ${process.env.API_KEY}`,'] : []),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
    ...(fileType === undefined ? [] : [`    'Content-Type': '${fileType}',`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length > 0 ? ['  headers: {', ...headers, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, '  ')}),`]),
    ...(fileType === undefined ? [] : [`  body: await readFile('${fileName(fileType)}'),`]),
  ];
  const call =
    options.length > 0 ? `fetch('${url}', {\n${options.join('\n')}\n})` : `fetch('${url}')`;
  const lines = [`const response = await ${call};`, 'const data = await response.json();'];
  if (fileType !== undefined) lines.unshift("import { readFile } from 'node:fs/promises';", '');
  return lines.join('\n');
}

/** A value as JavaScript, with unquoted keys where possible. */
function literal(value: unknown, indent: string): string {
  return JSON.stringify(value, null, 2)
    .replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replaceAll('\n', `\n${indent}`);
}

function python({ method, url, needsKey, body, fileType }: SampleRequest): string {
  const given = [
    `    "${url}",`,
    ...(needsKey ? [`    headers={${pythonHeaders(fileType)}},`] : []),
    ...(body === undefined ? [] : [`    json=${pythonLiteral(body)},`]),
    ...(fileType === undefined ? [] : [`    data=open("${fileName(fileType)}", "rb"),`]),
  ];
  return [
    ...(needsKey ? ['import os'] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...given,
    ')',
    'data = response.json()',
  ].join('\n');
}

function pythonHeaders(fileType: string | undefined): string {
  const key = `"Authorization": f"Bearer {os.environ['API_KEY']}"`;
  return fileType === undefined ? key : `${key}, "Content-Type": "${fileType}"`;
}

function pythonLiteral(value: unknown): string {
  return JSON.stringify(value, null, 4)
    .replaceAll(
      /^(\s*(?:"(?:[^"\\]|\\.)*": )?)(true|false|null)(,?)$/gm,
      (_, lead, word, comma) => {
        return `${lead}${PYTHON_WORDS[word as string]}${comma}`;
      },
    )
    .replaceAll('\n', '\n    ');
}

const PYTHON_WORDS: Record<string, string> = { true: 'True', false: 'False', null: 'None' };
