import { Type } from 'typebox';
import { oneOf } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

/** The settings for submitting mail over SMTP to this server. */
export interface SmtpSettings {
  open: boolean;
  closed_because: string | null;
  host: string;
  port: number | null;
  tls_port: number | null;
  user: string;
  starttls: boolean;
  plaintext: 'this_machine' | 'anywhere';
}

const Settings = Type.Object(
  {
    open: Type.Boolean({
      description: 'Whether this server accepts mail over SMTP.',
      examples: [true],
    }),
    closed_because: Type.Union([Type.String(), Type.Null()], {
      description: 'Why it does not.',
      examples: [null],
    }),
    host: Type.String({
      description: 'The host name to connect to.',
      examples: ['mail.example.com'],
    }),
    port: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The port for connections that start unencrypted; null if it is disabled.',
      examples: [2587],
    }),
    tls_port: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The port for implicit TLS; null if it is disabled.',
      examples: [2465],
    }),
    user: Type.String({
      description: 'Any other user name is accepted too. The password is an API key.',
      examples: ['postrider'],
    }),
    starttls: Type.Boolean({
      description: 'Whether `port` supports STARTTLS.',
      examples: [true],
    }),
    plaintext: oneOf(['this_machine', 'anywhere'] as const, {
      description: 'Which clients may authenticate over an unencrypted connection.',
    }),
  },
  { title: 'SmtpSettings' },
);

export function getSmtp(deps: { smtpSettings: () => SmtpSettings }): Operation {
  return operation(
    {
      id: 'getSmtp',
      method: 'GET',
      path: '/smtp',
      tag: 'Service',
      summary: 'Retrieve the SMTP settings',
      description:
        'The settings for applications that send over SMTP. Mail submitted this way is ' +
        'processed like a send request, and the `250` after its final dot means the same as ' +
        '`202` here.',
      scope: 'any',
      responses: { 200: { description: 'The settings.', body: Settings } },
    },
    () => ({ status: 200, body: deps.smtpSettings() }),
  );
}
