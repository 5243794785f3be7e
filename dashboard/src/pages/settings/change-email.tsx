import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { useMe } from '../../session/session.ts';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from './identity-fields.tsx';

const FIELDS = ['/email', '/password', '/code'];

/** Asks for a new sign-in address and sends a confirmation link to it. */
export function ChangeEmailDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [email, setEmail] = useState('');
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const requesting = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/me/email', { body: { email: email.trim(), ...identityBody(identity) } }),
      ),
  });
  if (requesting.isSuccess) {
    return (
      <Dialog title="Check your inbox" onClose={onClose}>
        <div className="grid gap-4">
          <Alert tone="good" title="Confirm your new address">
            <p>
              We sent a link to {email.trim()}. It expires in one hour. Until you confirm it, you
              sign in with {me.email}. If no sending domain is set up yet, the link is in the server
              log.
            </p>
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
  return (
    <Dialog title="Change email" onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          requesting.mutate();
        }}
      >
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
        {requesting.isError && !hasOnlyFieldErrors(requesting.error, FIELDS) && (
          <ErrorAlert error={requesting.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={requesting.isPending}>
            Send link
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
