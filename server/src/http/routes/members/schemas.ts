import { Type } from 'typebox';
import { Role } from '../../openapi/account-fields.ts';
import { closed, id, NullableTime, Time } from '../../openapi/shared-schemas.ts';
import { ME } from '../me/schemas.ts';

const MEMBER = {
  id: ME.id,
  email: ME.email,
  name: ME.name,
  role: 'owner',
  joined_at: ME.created_at,
  totp_enabled: true,
  delete_at: null,
};

export const Member = Type.Object(
  {
    id: id('usr', 'the user'),
    email: Type.String(),
    name: Type.String(),
    role: Role,
    joined_at: Time,
    totp_enabled: Type.Boolean(),
    delete_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'When the member leaves, because they asked to delete their account.',
    }),
  },
  { title: 'Member', examples: [MEMBER] },
);

export const UpdateMember = closed({ role: Role }, { title: 'UpdateMember' });
