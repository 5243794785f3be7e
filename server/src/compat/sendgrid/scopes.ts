import { Type } from 'typebox';
import type { Scope } from '../../accounts/scopes.ts';
import { type Operation, operation } from '../../http/operation.ts';

/** https://www.twilio.com/docs/sendgrid/api-reference/api-key-permissions */

/** The permissions at SendGrid for what a scope allows on this surface. */
const PERMISSIONS: Partial<Record<Scope, readonly string[]>> = {
  'send:transactional': ['mail.send', 'mail.batch.create', 'mail.batch.read'],
  'read:messages': [
    'user.scheduled_sends.read',
    'stats.read',
    'stats.global.read',
    'categories.stats.read',
  ],
  'write:messages': ['user.scheduled_sends.create', 'user.scheduled_sends.update'],
  'read:suppressions': [
    'suppression.read',
    'suppression.bounces.read',
    'suppression.invalid_emails.read',
    'suppression.spam_reports.read',
    'suppression.unsubscribes.read',
    'asm.groups.suppressions.read',
  ],
  'write:suppressions': [
    'suppression.delete',
    'suppression.bounces.delete',
    'suppression.invalid_emails.delete',
    'suppression.spam_reports.delete',
    'asm.groups.suppressions.create',
    'asm.groups.suppressions.delete',
  ],
};

export function scopeOperations(): Operation[] {
  return [
    operation(
      {
        id: 'sendgridListScopes',
        method: 'GET',
        path: '/v3/scopes',
        tag: 'API keys',
        summary: 'List the permissions of the key',
        scope: 'any',
        responses: {
          200: {
            description: 'The permissions, by their names at SendGrid.',
            body: Type.Object({ scopes: Type.Array(Type.String()) }, { title: 'SendGridScopes' }),
          },
        },
      },
      ({ caller }) => ({
        status: 200,
        body: { scopes: [...caller.scopes].flatMap((scope) => PERMISSIONS[scope] ?? []) },
      }),
    ),
  ];
}
