import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { useMe } from '../../session/session.ts';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from './identity-fields.tsx';

const FIELDS = ['/email', '/password', '/code'];

/** Asks for a new sign-in address and sends a confirmation link to it. */
export function ChangeEmailDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [email, setEmail] = useState('');
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const requesting = useLinkRequest(email.trim(), identity);
  if (requesting.isSuccess) {
    return (
      <LinkSent title="Confirm your new address" onClose={onClose}>
        We sent a link to {email.trim()}. It expires in one hour. Until you confirm it, you sign in
        with {me.email}. If no sending domain is set up yet, the link is in the server log.
      </LinkSent>
    );
  }
  return (
    <Dialog title="Change email" onClose={onClose}>
      <DialogForm saving={requesting} fields={FIELDS} submitLabel="Send link" onClose={onClose}>
        <Field label="New email" error={fieldError(requesting.error, '/email')}>
          <TextInput
            type="email"
            autoComplete="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <IdentityFields value={identity} onChange={setIdentity} error={requesting.error} />
      </DialogForm>
    </Dialog>
  );
}

/** Sends a link to the sign-in address, which verifies it. */
export function VerifyEmailDialog({ onClose }: { onClose: () => void }) {
  const { email } = useMe();
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const requesting = useLinkRequest(email, identity);
  if (requesting.isSuccess) {
    return (
      <LinkSent title="Verify your address" onClose={onClose}>
        We sent a link to {email}. It expires in one hour. If no sending domain is set up yet, the
        link is in the server log.
      </LinkSent>
    );
  }
  return (
    <Dialog title="Verify email" onClose={onClose}>
      <DialogForm saving={requesting} fields={FIELDS} submitLabel="Send link" onClose={onClose}>
        <p className="text-sm text-soft">We send a link to {email}, which verifies it.</p>
        <IdentityFields value={identity} onChange={setIdentity} error={requesting.error} />
      </DialogForm>
    </Dialog>
  );
}

function useLinkRequest(email: string, identity: typeof EMPTY_IDENTITY) {
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/me/email', { body: { email, ...identityBody(identity) } })),
  });
}

function LinkSent({
  title,
  children,
  onClose,
}: {
  title: string;
  children: ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog title="Check your inbox" onClose={onClose}>
      <div className="grid gap-4">
        <Alert tone="good" title={title}>
          <p>{children}</p>
        </Alert>
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
