import { Type } from 'typebox';
import { Role } from '../../openapi/account-fields.ts';
import { closed, id, Time } from '../../openapi/shared-schemas.ts';
import { ME } from '../me/schemas.ts';

const MEMBER = {
  id: ME.id,
  email: ME.email,
  name: ME.name,
  role: 'owner',
  joined_at: ME.created_at,
  totp_enabled: true,
};

export const Member = Type.Object(
  {
    id: id('usr', 'the user'),
    email: Type.String(),
    name: Type.String(),
    role: Role,
    joined_at: Time,
    totp_enabled: Type.Boolean(),
  },
  { title: 'Member', examples: [MEMBER] },
);

export const UpdateMember = closed({ role: Role }, { title: 'UpdateMember' });
