import type { Snippet } from '../../components/code-block.tsx';
import { domainOf, quoted, type SnippetValues } from './snippet-code.ts';

export interface SesSecrets {
  accessKeyId: string;
  secretAccessKey: string;
}

/** The official client libraries of other providers, connected to this server. */
export function clientSnippets(values: SnippetValues & { ses: SesSecrets }): Snippet[] {
  return [
    resend(values),
    postmark(values),
    sendgrid(values),
    mailgun(values),
    amazonSes(values),
  ].map((snippet) => ({ group: 'Other clients', ...snippet }));
}

const SUBJECT = `'Hello from Postrider'`;
const HTML = `'<p>It works!</p>'`;

function resend({ token, from, to }: SnippetValues): Snippet {
  const url = compatUrl('resend');
  return snippet(
    'Resend',
    [token, url],
    [
      `import { Resend } from 'resend';`,
      ``,
      `const resend = new Resend('${token}', {`,
      `  baseUrl: '${url}',`,
      `});`,
      ``,
      `const { data, error } = await resend.emails.send({`,
      `  from: ${quoted(from)},`,
      `  to: ${quoted(to)},`,
      `  subject: ${SUBJECT},`,
      `  html: ${HTML},`,
      `});`,
      `console.log(error ?? data);`,
    ],
  );
}

function postmark({ token, from, to }: SnippetValues): Snippet {
  const [scheme, host = ''] = compatUrl('postmark').split('://');
  const withoutTls = `  useHttps: false,`;
  return snippet(
    'Postmark',
    [token, host, withoutTls],
    [
      `import { ServerClient } from 'postmark';`,
      ``,
      `const client = new ServerClient('${token}', {`,
      `  requestHost: '${host}',`,
      ...(scheme === 'http' ? [withoutTls] : []),
      `});`,
      ``,
      `const result = await client.sendEmail({`,
      `  From: ${quoted(from)},`,
      `  To: ${quoted(to)},`,
      `  Subject: ${SUBJECT},`,
      `  HtmlBody: ${HTML},`,
      `});`,
      `console.log(result);`,
    ],
  );
}

function sendgrid({ token, from, to }: SnippetValues): Snippet {
  const url = compatUrl('sendgrid');
  const base = snippet(
    'SendGrid',
    [token, url, 'setClient', '@sendgrid/client'],
    [
      `import client from '@sendgrid/client';`,
      `import sgMail from '@sendgrid/mail';`,
      ``,
      `client.setApiKey('${token}');`,
      `client.setDefaultRequest('baseUrl', '${url}');`,
      `sgMail.setClient(client);`,
      ``,
      `const [response] = await sgMail.send({`,
      `  from: ${quoted(from)},`,
      `  to: ${quoted(to)},`,
      `  subject: ${SUBJECT},`,
      `  html: ${HTML},`,
      `});`,
      `console.log(response.statusCode, response.headers['x-message-id']);`,
    ],
  );
  return { ...base, note: `${base.note} SendGrid’s client warns about the form of the key.` };
}

function mailgun({ token, from, to }: SnippetValues): Snippet {
  const url = compatUrl('mailgun');
  return snippet(
    'Mailgun',
    [token, url],
    [
      `import Mailgun from 'mailgun.js';`,
      ``,
      `const client = new Mailgun(FormData).client({`,
      `  username: 'api',`,
      `  key: '${token}',`,
      `  url: '${url}',`,
      `});`,
      ``,
      `const result = await client.messages.create('${domainOf(from)}', {`,
      `  from: ${quoted(from)},`,
      `  to: ${quoted(to)},`,
      `  subject: ${SUBJECT},`,
      `  html: ${HTML},`,
      `});`,
      `console.log(result);`,
    ],
  );
}

function amazonSes({ from, to, ses }: SnippetValues & { ses: SesSecrets }): Snippet {
  const url = compatUrl('ses');
  return snippet(
    'Amazon SES',
    [url, ses.accessKeyId, ses.secretAccessKey],
    [
      `import { SendEmailCommand, SESv2Client } from '@aws-sdk/client-sesv2';`,
      ``,
      `const client = new SESv2Client({`,
      `  region: 'us-east-1', // any`,
      `  endpoint: '${url}',`,
      `  credentials: {`,
      `    accessKeyId: '${ses.accessKeyId}',`,
      `    secretAccessKey: '${ses.secretAccessKey}',`,
      `  },`,
      `});`,
      ``,
      `const { MessageId } = await client.send(`,
      `  new SendEmailCommand({`,
      `    FromEmailAddress: ${quoted(from)},`,
      `    Destination: { ToAddresses: [${quoted(to)}] },`,
      `    Content: {`,
      `      Simple: {`,
      `        Subject: { Data: ${SUBJECT} },`,
      `        Body: { Html: { Data: ${HTML} } },`,
      `      },`,
      `    },`,
      `  }),`,
      `);`,
      `console.log(MessageId);`,
    ],
  );
}

export function compatUrl(provider: string): string {
  return `${location.origin}/compat/${provider}`;
}

/** Marks the lines that contain what differs from a program for that provider. */
function snippet(name: string, changes: readonly string[], lines: readonly string[]): Snippet {
  const isChanged = (line: string) => changes.some((change) => line.includes(change));
  return {
    name,
    language: 'javascript',
    code: lines.join('\n'),
    highlighted: [...lines.keys()].filter((index) => isChanged(lines[index] ?? '')),
    note: `Already using ${name}? Change only the highlighted lines.`,
  };
}
