import { type OperatorKeys, publicOperatorKey } from '../../../accounts/operator-keys.ts';
import { requireInstanceOwner } from '../../../accounts/people/instance-owners.ts';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateOperatorKey, OperatorKeyWithToken } from './schemas.ts';

export function createOperatorKey(deps: { people: People; operatorKeys: OperatorKeys }): Operation {
  return operation(
    {
      id: 'createOperatorKey',
      method: 'POST',
      path: '/operator-keys',
      tag: 'Operator',
      summary: 'Create an operator key',
      description:
        'Requires a signed-in instance owner, the password, and a code if the account has a second ' +
        'factor. The secret is only ever returned in this response.',
      scope: 'person',
      auditedIn: 'server',
      body: CreateOperatorKey,
      examples: {
        billing: {
          summary: 'A key for one address',
          value: {
            name: 'Billing system',
            allowed_ips: ['203.0.113.7'],
            password: 'tulip freight oboe',
          },
        },
      },
      responses: { 201: { description: 'The key and its secret.', body: OperatorKeyWithToken } },
      problems: ['insufficient_role', 'too_many_attempts'],
    },
    async ({ signedIn, body: { password, code, ...wanted }, client }) => {
      requireInstanceOwner(signedIn);
      const given = { password, ...(code === undefined ? {} : { code }) };
      await deps.people.account.reauthenticate(signedIn, given, client);
      const { key, token } = await deps.operatorKeys.create(wanted);
      return { status: 201, body: { ...publicOperatorKey(key), token } };
    },
  );
}
