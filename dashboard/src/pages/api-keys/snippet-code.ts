import type { Snippet } from '../../components/code-block.tsx';

export interface SnippetValues {
  token: string;
  from: string;
  to: string;
}

/** The domain of an address. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** A first message, ready to paste: a shell command, our client library, and two languages without it. */
export function sendSnippets(values: SnippetValues): Snippet[] {
  const { token, from, to } = values;
  const url = `${location.origin}/api/v1/transactional/send`;
  const body = {
    to: { email: to },
    from: { email: from },
    subject: 'Hello ${name}',
    html: '<p>Welcome, {{ name }}!</p>',
    variables: { name: 'Jane' },
  };
  return [
    {
      name: 'curl',
      language: 'shell',
      code: curlSnippet('/transactional/send', token, body),
    },
    {
      name: 'SDK',
      language: 'javascript',
      code: [
        `import { Postrider } from 'postrider-client';`,
        ``,
        `const postrider = new Postrider({`,
        `  apiKey: '${token}',`,
        `  baseUrl: '${location.origin}',`,
        `});`,
        ``,
        `const { id, status } = await postrider.send({`,
        `  to: { email: ${quoted(to)} },`,
        `  from: { email: ${quoted(from)} },`,
        `  subject: 'Hello \${name}',`,
        `  html: '<p>Welcome, {{ name }}!</p>',`,
        `  variables: { name: 'Jane' },`,
        `});`,
        `console.log(id, status);`,
      ].join('\n'),
      note: SDK_NOTE,
    },
    {
      name: 'Node',
      language: 'javascript',
      code: [
        `const response = await fetch('${url}', {`,
        `  method: 'POST',`,
        `  headers: {`,
        `    authorization: 'Bearer ${token}',`,
        `    'content-type': 'application/json',`,
        `    'idempotency-key': crypto.randomUUID(),`,
        `  },`,
        `  body: JSON.stringify({`,
        `    to: { email: ${quoted(to)} },`,
        `    from: { email: ${quoted(from)} },`,
        `    subject: 'Hello \${name}',`,
        `    html: '<p>Welcome, {{ name }}!</p>',`,
        `    variables: { name: 'Jane' },`,
        `  }),`,
        `});`,
        `console.log(response.status, await response.json());`,
      ].join('\n'),
    },
    {
      name: 'Python',
      language: 'python',
      code: [
        'import json, urllib.request, uuid',
        '',
        'request = urllib.request.Request(',
        `    '${url}',`,
        '    headers={',
        `        'Authorization': 'Bearer ${token}',`,
        `        'Content-Type': 'application/json',`,
        `        'Idempotency-Key': str(uuid.uuid4()),`,
        '    },',
        '    data=json.dumps({',
        `        'to': {'email': ${quoted(to)}},`,
        `        'from': {'email': ${quoted(from)}},`,
        `        'subject': 'Hello \${name}',`,
        `        'html': '<p>Welcome, {{ name }}!</p>',`,
        `        'variables': {'name': 'Jane'},`,
        '    }).encode(),',
        ')',
        'print(json.load(urllib.request.urlopen(request)))',
      ].join('\n'),
    },
  ];
}

const SDK_NOTE =
  'TypeScript and JavaScript. Not on npm yet: run “npm pack -w postrider-client” in a checkout of Postrider and install the file that it creates.';

/** A request for the shell: a POST if it has a body and the options name no other method. */
export function curlSnippet(path: string, token: string, body?: object, options = ''): string {
  const lines = [
    `curl ${options}${location.origin}/api/v1${path}`,
    `-H 'Authorization: Bearer ${token}'`,
  ];
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(linePerField(body))}`);
  }
  return lines.join(' \\\n  ');
}

/** JSON that is read without scrolling, indented like the options of the command. */
function linePerField(body: object): string {
  const fields = Object.entries(body).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  return `{\n${fields.join(',\n')}\n  }`;
}

/** A string literal for JavaScript and Python; an address may contain an apostrophe. */
export function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
