import type { CodePanels } from './code-panel.ts';
import type { DocumentReader } from './document-reader.ts';
import { type Html, html } from './html.ts';
import { renderMarkdown } from './markdown.ts';

/** Introductory sections that apply to all operations. */

interface Guide {
  id: string;
  title: string;
  text: Html;
  code?: Html;
}

export function guides(reader: DocumentReader, panels: CodePanels): Guide[] {
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

export function guideSection({ id, title, text, code }: Guide): Html {
  return html`<section class="operation guide" id="${id}">
    <div class="text"><h3><a href="#${id}">${title}</a></h3>${text}</div>
    <div class="code">${code}</div>
  </section>`;
}

function authentication(reader: DocumentReader, panels: CodePanels): Guide {
  const code = [
    '# The key is shown only once.',
    'npx postrider keys create --mode test --scopes all',
    '',
    `curl ${reader.baseUrl}/api/v1/limits \\`,
    '  -H "Authorization: Bearer $API_KEY"',
  ].join('\n');
  return {
    id: 'authentication',
    title: 'Authentication',
    text: html`${renderMarkdown(`Every request must carry an API key: \`Authorization: Bearer pr_live_…\` or \`pr_test_…\`.

- A **live** key sends real mail. With a **test** key, messages are processed the same way but go to the test inbox. Live and test messages, events and contacts are separate.
- **Scopes** define what a key can do. A missing scope is rejected before the body is read.
- A key can expire, be restricted to sender domains and networks, and be rotated with a grace period in which both secrets work.

Keep keys on your server. Only the SHA-256 of a key is stored: a lost secret cannot be recovered, only replaced.`)}
    <p><a href="/app/api-keys">Create a key</a></p>`,
    code: panels.panel('Create a key', [{ name: 'Shell', language: 'shell', code }]),
  };
}

const SIMULATED: readonly [string, string][] = [
  ['delivered', 'Delivered.'],
  ['bounced', 'Hard bounce: 550 5.1.1, no such mailbox.'],
  ['mailbox-full', 'Soft bounce: 552 5.2.2.'],
  ['blocked', 'Blocked by policy: 550 5.7.1.'],
  ['deferred', 'Deferred twice, then delivered.'],
  ['defer-3', 'Deferred three times, or any other number.'],
  ['complained', 'Delivered, then reported as spam.'],
  ['suppressed', 'Suppressed: not contacted.'],
  ['smtp-550-5.7.26', 'Rejected with any reply code.'],
];

function testMode(reader: DocumentReader, panels: CodePanels): Guide {
  const code = [
    `curl '${reader.baseUrl}/api/v1/test/inbox/wait?to=jane@example.com' \\`,
    '  -H "Authorization: Bearer $API_KEY"',
  ].join('\n');
  return {
    id: 'test-mode',
    title: 'Test mode',
    text: html`${renderMarkdown(`With a test key, mail never leaves the server: it is delivered to the test inbox, and any sender domain is accepted. An end-to-end test can wait there for a sign-up email and read its \`links\` and one-time \`codes\`.

Addresses at \`@simulator.test\` simulate receiver behavior; \`+labels\` are allowed. Messages to any other address are delivered.`)}
    <table class="plain"><tbody>${SIMULATED.map(
      ([name, outcome]) =>
        html`<tr><td><code>${name}@simulator.test</code></td><td>${outcome}</td></tr>`,
    )}</tbody></table>`,
    code: panels.panel('Wait for a message', [{ name: 'curl', language: 'shell', code }]),
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
    title: 'Sending over SMTP',
    text: renderMarkdown(`Applications that only support SMTP submit mail on the submission port, with any user name and an API key as the password. \`GET /smtp\` returns the host and ports. The mail is processed like a send request, and the \`250\` after its final dot means the same as \`202\` here; the reply contains the message id.

The envelope determines the recipients, and placeholders are not replaced. \`X-Postrider-Tag\`, \`X-Postrider-Metadata\`, \`X-Postrider-Idempotency-Key\`, \`X-Postrider-Scheduled-At\` and \`X-Postrider-TTL-Seconds\` set fields that mail has no header for; recipients never see them.`),
    code: panels.panel('Submit a message', [{ name: 'swaks', language: 'shell', code }]),
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
    text: renderMarkdown(`\`subject\`, \`html\` and \`text\` can contain placeholders in two forms:

- \`\${name}\` and \`\${dotted.path}\` insert a value.
- \`{{ dotted.path }}\` is Liquid, with filters, \`{% if %}\` and \`{% for %}\`.

Values in \`html\` are escaped for their context; \`{{ path | raw }}\` opts out. A placeholder without a value or a \`default\` is rejected before anything is accepted, so that no recipient ever sees “Hi \${first_name}”. Use \`\\\${\` or \`{% raw %}\` for literal text.`),
    code: panels.panel('Both forms', [
      { name: 'JSON', language: 'json', code: JSON.stringify(body, null, 2) },
    ]),
  };
}

function errors(reader: DocumentReader, panels: CodePanels): Guide {
  const problem = {
    type: `${reader.baseUrl}/docs/errors/validation-failed`,
    title: 'Some fields are invalid',
    status: 422,
    code: 'validation_failed',
    detail: '/to/email: The address has no @.',
    fix: 'Correct the fields listed in errors.',
    request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
    errors: [{ pointer: '/to/email', code: 'invalid_email', detail: 'The address has no @.' }],
  };
  return {
    id: 'errors',
    title: 'Errors',
    text: html`${renderMarkdown(`Every error is \`application/problem+json\` (RFC 9457). \`code\` is machine-readable, \`detail\` explains this occurrence, \`fix\` says what to do, and \`type\` links to a page about it. All invalid fields are reported at once, each with a \`pointer\` into the body or the name of the query \`parameter\`.

Every response has an \`X-Request-Id\`. A 5xx response contains no internal details; the log has them under that id.`)}
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
    title: 'Idempotency',
    text: renderMarkdown(`A connection can break after a request was sent and before its response arrives. Send every POST with an \`Idempotency-Key\` (1 to 255 visible characters) and retry it safely: the same key and body return the first response again, with \`Idempotent-Replayed: true\`.

- The same key with another body is 422 \`idempotency_key_reused\`.
- While the first request is in progress, it is 409 \`idempotency_key_in_progress\`.
- The key is committed together with the message: two concurrent requests create one message. Keys are kept for 24 hours.`),
    code: panels.panel('Header', [{ name: 'Shell', language: 'shell', code: ` ${code}` }]),
  };
}

function lists(): Guide {
  return {
    id: 'lists',
    title: 'Pagination',
    text: renderMarkdown(
      'Lists return `{ "data": [...], "next_cursor": "…" }`, newest first. `limit` is 1 to 100 (default 20); pass `next_cursor` as `cursor` for the next page. Pages are stable while new rows arrive. Times are RFC 3339 in UTC with milliseconds.',
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
    title: 'Rate limits',
    text: html`${renderMarkdown('Requests are counted per workspace, and each message of a batch counts as a request. Requests of signed-in users, except sends, are counted per user. `RateLimit` shows how many are left; beyond the limit, the response is 429 with `Retry-After`. If the server is overloaded or its database is unavailable, the response is 503 with `Retry-After`, and nothing was accepted.')}
    <p><a href="#getLimits">Current limits</a></p>`,
    code: panels.panel('Headers', [{ name: 'Headers', language: 'shell', code }]),
  };
}

function versions(): Guide {
  return {
    id: 'versions',
    title: 'Versioning',
    text: renderMarkdown(
      'Changes to `/api/v1` are additive: new optional fields, endpoints, event types and error codes. Ignore fields that you do not know. Breaking changes go to `/api/v2`; deprecated features are announced with `Deprecation` and `Sunset` at least 12 months in advance.',
    ),
  };
}
