import { Type } from 'typebox';
import { ROLES } from '../../accounts/roles.ts';
import { NOT_BLANK, oneOf } from './shared-schemas.ts';

/** Fields that the schemas of accounts, workspaces, members and invitations share. */

export const Role = oneOf(ROLES, { description: 'The role in the workspace.' });

export const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  [NOT_BLANK]: true,
  examples: ['Jane Doe'],
});

export const WorkspaceName = Type.String({
  minLength: 1,
  maxLength: 100,
  [NOT_BLANK]: true,
  examples: ['Shop'],
});

export const Email = Type.String({
  format: 'email',
  maxLength: 1024,
  examples: ['jane@shop.example'],
});

/** Length is checked together with the content: see accounts/people/password-rules.ts. */
export const Password = Type.String({ maxLength: 4096, examples: ['tulip freight oboe'] });

export const Code = Type.String({ minLength: 6, maxLength: 40, examples: ['428913'] });

/** A token from a link. A malformed token is treated like an invalid one. */
export const Token = Type.String({ maxLength: 200, examples: ['pQ2n…'] });
