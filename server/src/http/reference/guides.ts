import type { CodePanels } from './code-panel.ts';
import { type Html, html } from './html.ts';
import { prose } from './prose.ts';
import type { Reader } from './reader.ts';

/** What is true of all operations, told before them. */

interface Guide {
  id: string;
  title: string;
  words: Html;
  code?: Html;
}

export function guides(reader: Reader, panels: CodePanels): Guide[] {
  return [
    authentication(reader, panels),
    testMode(reader, panels),
    smtp(panels),
    placeholders(panels),
    errors(reader, panels),
    repeating(panels),
    lists(),
    limits(panels),
    versions(),
  ];
}

export function guideSection({ id, title, words, code }: Guide): Html {
  return html`<section class="operation guide" id="${id}">
    <div class="words"><h3><a href="#${id}">${title}</a></h3>${words}</div>
    <div class="code">${code}</div>
  </section>`;
}

function authentication(reader: Reader, panels: CodePanels): Guide {
  const code = [
    '# A key is shown once, when it is made.',
    'npx postrider keys create --mode test --scopes all',
    '',
    `curl ${reader.baseUrl}/api/v1/limits \\`,
    '  -H "Authorization: Bearer $API_KEY"',
  ].join('\n');
  return {
    id: 'authentication',
    title: 'Authentication',
    words: html`${prose(`Every request carries an API key: \`Authorization: Bearer pr_live_…\` or \`pr_test_…\`.

- A **live** key sends real mail. A **test** key runs the same way and ends in the test inbox. Their messages, events and contacts never mix.
- A key has **scopes**: what it may do. A missing scope is refused before the body is read.
- A key may expire, be limited to sender domains and networks, and be rotated with a grace period in which both secrets work.

Keep keys on your server. What we store of a key is its SHA-256: a lost secret cannot be shown again, only replaced.`)}
    <p><a href="/app/api-keys">Create a key</a></p>`,
    code: panels.panel('A first key', [{ name: 'Shell', language: 'shell', code }]),
  };
}

const SIMULATED: readonly [string, string][] = [
  ['delivered', 'Delivered.'],
  ['bounced', 'Refused for good: 550 5.1.1, no such mailbox.'],
  ['mailbox-full', 'Refused: 552 5.2.2, a soft bounce.'],
  ['blocked', 'Refused by policy: 550 5.7.1.'],
  ['deferred', 'Two times “try again later”, then delivered.'],
  ['defer-3', 'Three times, or any number.'],
  ['complained', 'Delivered, then called spam.'],
  ['suppressed', 'On the suppression list: not contacted.'],
  ['smtp-550-5.7.26', 'Refused with any code you like.'],
];

function testMode(reader: Reader, panels: CodePanels): Guide {
  const code = [
    `curl '${reader.baseUrl}/api/v1/test/inbox/wait?to=jane@example.com' \\`,
    '  -H "Authorization: Bearer $API_KEY"',
  ].join('\n');
  return {
    id: 'test-mode',
    title: 'Test mode',
    words: html`${prose(`With a test key nothing ever leaves: the last hop is the test inbox, and any sender domain will do. An end-to-end test can wait there for a sign-up mail and read its \`links\` and one-time \`codes\`.

Recipients at \`@simulator.test\` play a receiver; \`+labels\` are allowed. Any other address is delivered.`)}
    <table class="plain"><tbody>${SIMULATED.map(
      ([name, outcome]) =>
        html`<tr><td><code>${name}@simulator.test</code></td><td>${outcome}</td></tr>`,
    )}</tbody></table>`,
    code: panels.panel('Wait for a mail', [{ name: 'curl', language: 'shell', code }]),
  };
}

function smtp(panels: CodePanels): Guide {
  const code = [
    'swaks --server mail.example.com:2587 \\',
    '  --auth-user postrider --auth-password "$API_KEY" \\',
    '  --from hello@yourdomain.com --to jane@example.com --h-Subject Hello --body Hello',
  ].join('\n');
  return {
    id: 'smtp',
    title: 'Sending by SMTP',
    words:
      prose(`Programs that only speak SMTP hand in mail on the submission port: any user name, and an API key as the password. \`GET /smtp\` tells host and ports. The mail is treated like a request to send, and \`250\` to its final dot means what \`202\` means here; the reply names the message.

The envelope says who receives, and placeholders are left as they are. \`X-Postrider-Tag\`, \`X-Postrider-Metadata\`, \`X-Postrider-Idempotency-Key\`, \`X-Postrider-Scheduled-At\` and \`X-Postrider-TTL-Seconds\` stand for the fields that a mail has no place for; recipients never see them.`),
    code: panels.panel('Hand in a mail', [{ name: 'swaks', language: 'shell', code }]),
  };
}

function placeholders(panels: CodePanels): Guide {
  const body = {
    subject: 'Your order ${order.number}',
    html: '<p>Hello {{ name | default: "there" }}</p>\n{% for item in order.items %}<p>{{ item }}</p>{% endfor %}',
    variables: { name: 'Jane', order: { number: 1042, items: ['Tea', 'Cups'] } },
  };
  return {
    id: 'placeholders',
    title: 'Placeholders',
    words:
      prose(`\`subject\`, \`html\` and \`text\` may hold placeholders of two forms, wherever you like:

- \`\${name}\` and \`\${dotted.path}\` put a value in its place.
- \`{{ dotted.path }}\` is Liquid: filters, \`{% if %}\` and \`{% for %}\` work too.

Values in \`html\` are escaped for the place where they stand; \`{{ path | raw }}\` opts out. A placeholder without a value and without a \`default\` is refused before anything is accepted, so nobody ever receives “Hi \${first_name}”. \`\\\${\` and \`{% raw %}\` give literal text.`),
    code: panels.panel('Both forms', [
      { name: 'JSON', language: 'json', code: JSON.stringify(body, null, 2) },
    ]),
  };
}

function errors(reader: Reader, panels: CodePanels): Guide {
  const problem = {
    type: `${reader.baseUrl}/docs/errors/validation-failed`,
    title: 'Some fields are not valid',
    status: 422,
    code: 'validation_failed',
    detail: '/to/email: The address has no @.',
    fix: 'Correct the fields named in errors.',
    request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
    errors: [{ pointer: '/to/email', code: 'invalid_email', detail: 'The address has no @.' }],
  };
  return {
    id: 'errors',
    title: 'Errors',
    words: html`${prose(`Every error is \`application/problem+json\` (RFC 9457). \`code\` is for programs, \`detail\` says what happened this time, \`fix\` what to do, and \`type\` leads to a page about it. All faulty fields are told at once, each with a \`pointer\` into the body or the name of the query \`parameter\`.

Every answer carries \`X-Request-Id\`. A 5xx never says what broke inside; the log does, under that id.`)}
    <p><a href="/docs/errors">All error codes</a></p>`,
    code: panels.panel('A problem', [
      { name: 'JSON', language: 'json', code: JSON.stringify(problem, null, 2) },
    ]),
  };
}

function repeating(panels: CodePanels): Guide {
  const code = `-H "Idempotency-Key: welcome-4711"`;
  return {
    id: 'idempotency',
    title: 'Repeating requests',
    words:
      prose(`Networks break after the request and before the answer. Give every POST an \`Idempotency-Key\` (1 to 255 visible characters) and repeat it without fear: the same key and body give the first answer again, with \`Idempotent-Replayed: true\`.

- The same key with another body is 422 \`idempotency_key_reused\`.
- While the first request still runs it is 409 \`idempotency_key_in_progress\`.
- The key is committed together with the message: two racing requests make one message. Keys are kept for 24 hours.`),
    code: panels.panel('Header', [{ name: 'Shell', language: 'shell', code: ` ${code}` }]),
  };
}

function lists(): Guide {
  return {
    id: 'lists',
    title: 'Lists',
    words: prose(
      'Lists answer `{ "data": [...], "next_cursor": "…" }`, newest first. `limit` takes 1 to 100 (20 when absent); pass `next_cursor` as `cursor` to go on. Pages stay stable while new rows arrive. Times are RFC 3339 in UTC with milliseconds.',
    ),
  };
}

function limits(panels: CodePanels): Guide {
  const code = [
    'RateLimit-Policy: "workspace";q=200;w=2',
    'RateLimit: "workspace";r=197;t=1',
    'Retry-After: 1   # on 429 and 503',
  ].join('\n');
  return {
    id: 'rate-limits',
    title: 'Limits',
    words: html`${prose('Requests are counted per workspace. `RateLimit` tells how many are left; beyond the limit the answer is 429 with `Retry-After`. When the server is busy or its database is away the answer is 503 with `Retry-After`, and nothing was accepted.')}
    <p><a href="#getLimits">The limits in force</a></p>`,
    code: panels.panel('Headers', [{ name: 'Headers', language: 'shell', code }]),
  };
}

function versions(): Guide {
  return {
    id: 'versions',
    title: 'Versions',
    words: prose(
      '`/api/v1` only grows: new optional fields, endpoints, event types and error codes. Read what you know and leave the rest. What would break a client goes to `/api/v2`; what is retired is announced by `Deprecation` and `Sunset` at least 12 months ahead.',
    ),
  };
}
