import { Type } from 'typebox';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { RequestEmailChange } from './schemas.ts';

export function requestEmailChange({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'requestEmailChange',
      method: 'POST',
      path: '/me/email',
      tag: 'Account',
      summary: 'Change your email address',
      description:
        'Sends a link to the new address, which must be confirmed within an hour with ' +
        '`POST /me/email/confirm`. Until then nothing changes. The response is the same whether or ' +
        'not the new address has an account. While no domain can send, the link is written to the ' +
        'server log. If your current address is not verified, you can request a link to it, which ' +
        'verifies it.',
      scope: 'person',
      body: RequestEmailChange,
      examples: {
        change: {
          summary: 'New address and password',
          value: { email: 'jane@new.example', password: 'tulip freight oboe' },
        },
        second_factor: {
          summary: 'With a second factor',
          value: { email: 'jane@new.example', password: 'tulip freight oboe', code: '428913' },
        },
      },
      responses: { 202: { description: 'A link is on its way.', body: Type.Object({}) } },
      problems: ['too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      await people.emailChanges.request(signedIn, body, client);
      return { status: 202, body: {} };
    },
  );
}
