import { Type } from 'typebox';
import { oneOf } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

/** Where programs hand in mail by SMTP, as this server knows it. */
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
    open: Type.Boolean({ description: 'Whether mail is taken by SMTP here.', examples: [true] }),
    closed_because: Type.Union([Type.String(), Type.Null()], {
      description: 'Why it is not, for people.',
      examples: [null],
    }),
    host: Type.String({ description: 'The server to name.', examples: ['mail.example.com'] }),
    port: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The port on which a connection begins unencrypted; null when it is closed.',
      examples: [2587],
    }),
    tls_port: Type.Union([Type.Integer(), Type.Null()], {
      description:
        'The port on which a connection is encrypted from its first byte (implicit TLS); null when ' +
        'it is closed.',
      examples: [2465],
    }),
    user: Type.String({
      description: 'Any other name is taken too. The password is an API key.',
      examples: ['postrider'],
    }),
    starttls: Type.Boolean({
      description: 'Whether a connection to `port` can be encrypted by STARTTLS.',
      examples: [true],
    }),
    plaintext: oneOf(['this_machine', 'anywhere'] as const, {
      description: 'From where a key is taken over a connection that is not encrypted.',
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
      summary: 'Read the settings for SMTP',
      description:
        'What a program that only speaks SMTP has to be told. Mail that is handed in that way is ' +
        'treated like a request to send, and `250` to its final dot means what `202` means here.',
      scope: 'any',
      responses: { 200: { description: 'The settings.', body: Settings } },
    },
    () => ({ status: 200, body: deps.smtpSettings() }),
  );
}
