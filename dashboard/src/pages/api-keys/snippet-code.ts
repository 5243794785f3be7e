import type { Snippet } from '../../components/code-block.tsx';

export interface SnippetValues {
  token: string;
  from: string;
  to: string;
  origin?: string;
}

/** A first message, ready to paste, as a shell command and in two languages. */
export function sendSnippets(values: SnippetValues): Snippet[] {
  const { token, from, to, origin = location.origin } = values;
  const url = `${origin}/api/v1/transactional/send`;
  const body = {
    to: { email: to },
    from: { email: from },
    subject: 'Hello ${name}',
    html: '<p>Welcome, {{ name }}!</p>',
    variables: { name: 'Jane' },
  };
  return [
    { name: 'curl', code: curlSnippet(url, token, body) },
    {
      name: 'Node',
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

export function curlSnippet(url: string, token: string, body: unknown): string {
  return [
    `curl ${url} \\`,
    `  -H 'Authorization: Bearer ${token}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join('\n');
}

/** A string literal for JavaScript and Python; an address may contain an apostrophe. */
function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
