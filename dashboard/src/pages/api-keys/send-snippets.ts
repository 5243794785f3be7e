import type { Snippet } from '../../components/code-block.tsx';

/** The first message, ready to paste, in the ways people send. */
export function sendSnippets(token: string, origin: string = location.origin): Snippet[] {
  const live = token.startsWith('pr_live_');
  const from = live ? 'hello@yourdomain.com' : 'hello@example.org';
  const body = {
    to: { email: live ? 'you@yourdomain.com' : 'jane@example.com' },
    from: { email: from },
    subject: 'Hello ${name}',
    html: '<p>Welcome, {{ name }}!</p>',
    variables: { name: 'Jane' },
  };
  const url = `${origin}/api/v1/transactional/send`;
  return [
    {
      name: 'curl',
      code: [
        `curl ${url} \\`,
        `  -H 'Authorization: Bearer ${token}' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '${JSON.stringify(body)}'`,
      ].join('\n'),
    },
    {
      name: 'Node',
      code: [
        `const answer = await fetch('${url}', {`,
        `  method: 'POST',`,
        `  headers: {`,
        `    authorization: 'Bearer ${token}',`,
        `    'content-type': 'application/json',`,
        `    'idempotency-key': crypto.randomUUID(),`,
        `  },`,
        `  body: JSON.stringify({`,
        `    to: { email: '${body.to.email}' },`,
        `    from: { email: '${from}' },`,
        `    subject: 'Hello \${name}',`,
        `    html: '<p>Welcome, {{ name }}!</p>',`,
        `    variables: { name: 'Jane' },`,
        `  }),`,
        `});`,
        `console.log(answer.status, await answer.json());`,
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
        `        'to': {'email': '${body.to.email}'},`,
        `        'from': {'email': '${from}'},`,
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
