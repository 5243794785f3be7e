import type { ApiParameter, DocumentedOperation } from './document-reader.ts';
import type { Language } from './highlight.ts';

/**
 * One request in several languages, generated from the example of an operation. TypeScript uses our
 * client, Python `requests`, and all others what comes with the language.
 */

export interface Sample {
  name: string;
  language: Language;
  code: string;
}

/** The request that all samples of an operation make. */
export interface SampleRequest {
  operationId: string;
  method: string;
  baseUrl: string;
  /** With {parameters}, below /api/v1. */
  template: string;
  path: Record<string, string>;
  query: Record<string, string | number | boolean>;
  url: string;
  authentication: 'key' | 'session' | 'none';
  body: unknown;
  /** The media type of a body that is a file. */
  fileType: string | undefined;
  returnsJson: boolean;
}

interface SampleLanguage {
  name: string;
  language: Language;
  write: (request: SampleRequest) => string;
}

const CURL: SampleLanguage = { name: 'curl', language: 'shell', write: curl };

const SCRIPTS: readonly SampleLanguage[] = [
  CURL,
  { name: 'TypeScript', language: 'code', write: typescript },
  { name: 'Python', language: 'python', write: python },
];

const LANGUAGES: readonly SampleLanguage[] = [
  ...SCRIPTS,
  { name: 'Go', language: 'code', write: go },
  { name: 'PHP', language: 'code', write: php },
  { name: 'Ruby', language: 'hashed', write: ruby },
  { name: 'C#', language: 'code', write: csharp },
  { name: 'Java', language: 'code', write: java },
];

export function samplesOf(placed: DocumentedOperation, baseUrl: string, body: unknown): Sample[] {
  const request = sampleRequest(placed, baseUrl, body);
  return languagesFor(request).map(({ name, language, write }) => ({
    name,
    language,
    code: write(request),
  }));
}

/** Operations for signed-in users are not meant for programs, and uploads are for scripts. */
function languagesFor({ authentication, fileType }: SampleRequest): readonly SampleLanguage[] {
  if (authentication === 'session') return [CURL];
  return fileType === undefined ? LANGUAGES : SCRIPTS;
}

export function sampleRequest(
  { method, path, operation }: DocumentedOperation,
  baseUrl: string,
  body: unknown,
): SampleRequest {
  const { operationId, parameters = [], security } = operation;
  const types = Object.keys(operation.requestBody?.content ?? {});
  const isFile = types.length > 0 && !types.includes('application/json');
  const [success] = Object.entries(operation.responses).filter(([status]) => /^2/.test(status));
  const pathValues = valuesOf(parameters, 'path', (one) => String(one.example ?? one.name));
  // Only parameters with an example are shown.
  const query = valuesOf(
    parameters.filter(({ example }) => example !== undefined),
    'query',
    (one) => one.example as string | number | boolean,
  );
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(pathValues[name] ?? name),
  );
  const pairs = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  const search = pairs.length > 0 ? `?${pairs.join('&').replaceAll('%40', '@')}` : '';
  return {
    operationId,
    method,
    baseUrl,
    template: path.replace(/^\/api\/v1/, ''),
    path: pathValues,
    query,
    url: `${baseUrl}${filled}${search}`,
    authentication: security === undefined ? 'key' : security.length === 0 ? 'none' : 'session',
    body: isFile ? undefined : body,
    fileType: isFile ? types[0] : undefined,
    returnsJson: Object.keys(success?.[1].content ?? {}).includes('application/json'),
  };
}

function valuesOf<T>(
  parameters: readonly ApiParameter[],
  location: ApiParameter['in'],
  value: (parameter: ApiParameter) => T,
): Record<string, T> {
  return Object.fromEntries(
    parameters.filter((one) => one.in === location).map((one) => [one.name, value(one)]),
  );
}

function fileName(type: string): string {
  return `contacts.${type.endsWith('csv') ? 'csv' : 'ndjson'}`;
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function indented(text: string, indent: string): string {
  return text.replaceAll('\n', `\n${indent}`);
}

function curl(request: SampleRequest): string {
  const { method, url, authentication, body, fileType } = request;
  const quoted = /[?&]/.test(url) ? `'${url}'` : url;
  const implied = method === 'GET' || (method === 'POST' && (body ?? fileType) !== undefined);
  const lines = [implied ? `curl ${quoted}` : `curl -X ${method} ${quoted}`];
  if (authentication === 'key') lines.push('-H "Authorization: Bearer $API_KEY"');
  if (authentication === 'session') {
    lines.push('-H "Cookie: $SESSION"', '-H "Postrider-Workspace: $WORKSPACE"');
    lines.push('-H "Postrider-Mode: live"');
  }
  if (body !== undefined) {
    lines.push('-H "Content-Type: application/json"');
    lines.push(`-d '${indented(json(body), '  ').replaceAll("'", `'\\''`)}'`);
  }
  if (fileType !== undefined) {
    lines.push(`-H "Content-Type: ${fileType}"`, `--data-binary @${fileName(fileType)}`);
  }
  return lines.join(' \\\n  ');
}

/** Methods of the client that take the body of an operation as their first argument. */
const CLIENT_METHODS: Record<string, string> = {
  sendTransactional: 'send',
  sendBulk: 'sendBulk',
  dryRunTransactional: 'dryRun',
};

function typescript(request: SampleRequest): string {
  const { operationId, method, baseUrl, template, path, query, body, fileType } = request;
  const shortcut = CLIENT_METHODS[operationId];
  const options = [
    ...(Object.keys(path).length > 0 ? [`  path: ${inlineLiteral(path)},`] : []),
    ...(Object.keys(query).length > 0 ? [`  query: ${inlineLiteral(query)},`] : []),
    ...(body === undefined ? [] : [`  body: ${indented(literal(body, JAVASCRIPT), '  ')},`]),
    ...(fileType === undefined
      ? []
      : [
          `  body: await readFile('${fileName(fileType)}'),`,
          `  headers: { 'Content-Type': '${fileType}' },`,
        ]),
  ];
  const given = options.length > 0 ? `, {\n${options.join('\n')}\n}` : '';
  const call = shortcut
    ? `postrider.${shortcut}(${literal(body, JAVASCRIPT)})`
    : `postrider.${request.returnsJson ? 'request' : 'response'}('${method}', '${template}'${given})`;
  return [
    ...(fileType === undefined ? [] : [`import { readFile } from 'node:fs/promises';`]),
    `import { Postrider } from 'postrider-client';`,
    '',
    'const postrider = new Postrider({',
    '  apiKey: process.env.API_KEY!,',
    `  baseUrl: '${baseUrl}',`,
    '});',
    '',
    `const ${request.returnsJson ? 'data' : 'response'} = await ${call};`,
  ].join('\n');
}

function inlineLiteral(value: object): string {
  return literal(value, JAVASCRIPT).replaceAll(/\n */g, ' ').replace(/, }$/, ' }');
}

/** How a language writes JSON values. */
interface Notation {
  key: (key: string) => string;
  text: (text: string) => string;
  words: { true: string; false: string; null: string };
  object: [string, string];
  list: [string, string];
  emptyObject: string;
  indent: number;
}

const WORDS = { true: 'true', false: 'false', null: 'null' };
const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text);

const JAVASCRIPT: Notation = {
  key: (key) => `${isName(key) ? key : singleQuoted(key)}: `,
  text: singleQuoted,
  words: WORDS,
  object: ['{', '}'],
  list: ['[', ']'],
  emptyObject: '{}',
  indent: 2,
};

const PYTHON: Notation = {
  key: (key) => `${JSON.stringify(key)}: `,
  text: (text) => JSON.stringify(text),
  words: { true: 'True', false: 'False', null: 'None' },
  object: ['{', '}'],
  list: ['[', ']'],
  emptyObject: '{}',
  indent: 4,
};

const PHP: Notation = {
  key: (key) => `${phpText(key)} => `,
  text: phpText,
  words: WORDS,
  object: ['[', ']'],
  list: ['[', ']'],
  emptyObject: 'new stdClass()',
  indent: 4,
};

const RUBY: Notation = {
  key: (key) => `${isName(key) ? key : rubyText(key)}: `,
  text: rubyText,
  words: { ...WORDS, null: 'nil' },
  object: ['{', '}'],
  list: ['[', ']'],
  emptyObject: '{}',
  indent: 2,
};

function literal(value: unknown, notation: Notation, outer = ''): string {
  const inner = outer + ' '.repeat(notation.indent);
  const block = ([open, close]: [string, string], entries: string[]): string =>
    `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${outer}${close}`;
  if (Array.isArray(value)) {
    if (value.length === 0) return notation.list.join('');
    return block(
      notation.list,
      value.map((one) => literal(one, notation, inner)),
    );
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return notation.emptyObject;
    return block(
      notation.object,
      entries.map(([key, one]) => notation.key(key) + literal(one, notation, inner)),
    );
  }
  if (typeof value === 'string') return notation.text(value);
  if (value === null || typeof value === 'boolean') {
    return notation.words[String(value) as keyof typeof WORDS];
  }
  return String(value);
}

/** Single quotes where they need no other escapes than JavaScript, PHP and Ruby share. */
function singleQuoted(text: string): string {
  return isPlain(text) ? `'${text}'` : JSON.stringify(text);
}

function isPlain(text: string): boolean {
  return !/['\\\p{Cc}\u2028\u2029]/u.test(text);
}

/** In double quotes, PHP replaces variables; other escapes are those of JSON. */
function phpText(text: string): string {
  if (isPlain(text)) return `'${text}'`;
  return JSON.stringify(text)
    .replaceAll('$', '\\$')
    .replaceAll(/\\u([0-9a-f]{4})/g, '\\u{$1}');
}

/** In double quotes, Ruby replaces #{…}. */
function rubyText(text: string): string {
  return isPlain(text) ? `'${text}'` : JSON.stringify(text).replaceAll('#', '\\#');
}

function python({ method, url, authentication, body, fileType }: SampleRequest): string {
  const needsKey = authentication === 'key';
  const key = `"Authorization": f"Bearer {os.environ['API_KEY']}"`;
  const headers = fileType === undefined ? key : `${key}, "Content-Type": "${fileType}"`;
  return [
    ...(needsKey ? ['import os'] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    ...(needsKey ? [`    headers={${headers}},`] : []),
    ...(body === undefined ? [] : [`    json=${literal(body, PYTHON, '    ')},`]),
    ...(fileType === undefined ? [] : [`    data=open("${fileName(fileType)}", "rb"),`]),
    ')',
    'print(response.status_code, response.text)',
  ].join('\n');
}

function go({ method, url, authentication, body }: SampleRequest): string {
  const hasKey = authentication === 'key';
  // A raw string ends at a backtick, which JSON can escape.
  const raw = body === undefined ? '' : json(body).replaceAll('`', '\\u0060');
  const imports = ['fmt', 'io', 'net/http', ...(hasKey ? ['os'] : []), ...(raw ? ['strings'] : [])];
  return [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(raw ? [`\tbody := strings.NewReader(\`${raw}\`)`] : []),
    `\trequest, err := http.NewRequest("${method}", "${url}", ${raw ? 'body' : 'nil'})`,
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    ...(hasKey ? ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))'] : []),
    ...(raw ? ['\trequest.Header.Set("Content-Type", "application/json")'] : []),
    '\tresponse, err := http.DefaultClient.Do(request)',
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tdefer response.Body.Close()',
    '\tdata, err := io.ReadAll(response.Body)',
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tfmt.Println(response.Status, string(data))',
    '}',
  ].join('\n');
}

function php({ method, url, authentication, body }: SampleRequest): string {
  const headers = [
    ...(authentication === 'key' ? [`        'Authorization: Bearer ' . getenv('API_KEY'),`] : []),
    ...(body === undefined ? [] : [`        'Content-Type: application/json',`]),
  ];
  return [
    '<?php',
    '',
    `$request = curl_init('${url}');`,
    'curl_setopt_array($request, [',
    ...(method === 'GET' ? [] : [`    CURLOPT_CUSTOMREQUEST => '${method}',`]),
    '    CURLOPT_RETURNTRANSFER => true,',
    ...(headers.length > 0 ? ['    CURLOPT_HTTPHEADER => [', ...headers, '    ],'] : []),
    ...(body === undefined
      ? []
      : [`    CURLOPT_POSTFIELDS => json_encode(${literal(body, PHP, '    ')}),`]),
    ']);',
    'echo curl_exec($request);',
  ].join('\n');
}

function ruby({ method, url, authentication, body }: SampleRequest): string {
  const name = method.charAt(0) + method.slice(1).toLowerCase();
  return [
    ...(body === undefined ? [] : [`require 'json'`]),
    `require 'net/http'`,
    '',
    `uri = URI('${url}')`,
    `request = Net::HTTP::${name}.new(uri)`,
    ...(authentication === 'key'
      ? [`request['Authorization'] = "Bearer #{ENV.fetch('API_KEY')}"`]
      : []),
    ...(body === undefined
      ? []
      : [
          `request['Content-Type'] = 'application/json'`,
          `request.body = JSON.generate(${literal(body, RUBY)})`,
        ]),
    `response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https') do |http|`,
    '  http.request(request)',
    'end',
    'puts response.code, response.body',
  ].join('\n');
}

function csharp({ method, url, authentication, body }: SampleRequest): string {
  const name = method.charAt(0) + method.slice(1).toLowerCase();
  const request = `var request = new HttpRequestMessage(HttpMethod.${name}, "${url}")`;
  return [
    ...(authentication === 'key' ? ['using System.Net.Http.Headers;'] : []),
    ...(body === undefined ? [] : ['using System.Text;']),
    ...(authentication === 'key' || body !== undefined ? [''] : []),
    'using var client = new HttpClient();',
    ...(authentication === 'key'
      ? [
          'client.DefaultRequestHeaders.Authorization =',
          '    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("API_KEY"));',
        ]
      : []),
    ...(body === undefined
      ? [`${request};`]
      : [
          request,
          '{',
          '    Content = new StringContent("""',
          `        ${indented(json(body), '        ')}`,
          '        """, Encoding.UTF8, "application/json"),',
          '};',
        ]),
    'var response = await client.SendAsync(request);',
    'Console.WriteLine($"{(int)response.StatusCode} {await response.Content.ReadAsStringAsync()}");',
  ].join('\n');
}

function java({ method, url, authentication, body }: SampleRequest): string {
  const indent = ' '.repeat(12);
  const publisher =
    body === undefined ? 'BodyPublishers.noBody()' : 'BodyPublishers.ofString(body)';
  return [
    'import java.net.URI;',
    'import java.net.http.HttpClient;',
    'import java.net.http.HttpRequest;',
    'import java.net.http.HttpRequest.BodyPublishers;',
    'import java.net.http.HttpResponse.BodyHandlers;',
    '',
    'public class Sample {',
    '    public static void main(String[] args) throws Exception {',
    ...(body === undefined
      ? []
      : [
          '        var body = """',
          `${indent}${indented(json(body).replaceAll('\\', '\\\\'), indent)}`,
          `${indent}""";`,
        ]),
    `        var request = HttpRequest.newBuilder(URI.create("${url}"))`,
    ...(authentication === 'key'
      ? [`${indent}.header("Authorization", "Bearer " + System.getenv("API_KEY"))`]
      : []),
    ...(body === undefined ? [] : [`${indent}.header("Content-Type", "application/json")`]),
    `${indent}.method("${method}", ${publisher})`,
    `${indent}.build();`,
    '        var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());',
    '        System.out.println(response.statusCode() + " " + response.body());',
    '    }',
    '}',
  ].join('\n');
}
