import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { fieldError, isAboutFields } from '../../api/problem.ts';
import { tell } from '../../frame/toasts.tsx';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Choice, Field, TextInput } from '../../parts/field.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { useShownOnce } from '../../parts/secret.tsx';
import { useWorkspace } from '../../session/session.ts';
import { ROLES, type Role, rolesToGive } from './roles.ts';

export function Invite({ onClose }: { onClose: () => void }) {
  const { api } = useHere();
  const queries = useQueryClient();
  const { role: own } = useWorkspace();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const inviting = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/invitations', { body: { email: email.trim(), role } })),
    onSuccess: async (invitation) => {
      await queries.invalidateQueries({ queryKey: ['invitations'] });
      if (!invitation.mailed) return;
      tell(`An invitation is on its way to ${invitation.email}.`);
      onClose();
    },
  });
  const link = inviting.data?.link;
  if (link) return <LinkToHandOver email={email} link={link} onClose={onClose} />;
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          inviting.mutate();
        }}
      >
        <Field label="E-mail" error={fieldError(inviting.error, '/email')}>
          <TextInput
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <Choice
          legend="Role"
          value={role}
          onChange={setRole}
          options={ROLES.filter((one) => rolesToGive(own).includes(one.role)).map((one) => ({
            value: one.role,
            label: one.label,
            hint: one.hint,
          }))}
        />
        {inviting.isError && !isAboutFields(inviting.error, ['/email']) && (
          <ProblemNote error={inviting.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={inviting.isPending}>
            Invite
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function LinkToHandOver({
  email,
  link,
  onClose,
}: {
  email: string;
  link: string;
  onClose: () => void;
}) {
  useShownOnce();
  return (
    <Dialog title="Hand over this link" onClose={onClose} stays>
      <div className="grid gap-4">
        <Note tone="info" title="No domain can send mail yet">
          <p>Give {email} this link yourself. It works once, and only for that address.</p>
        </Note>
        <CodeBlock code={link} label="invitation link" wrap />
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
