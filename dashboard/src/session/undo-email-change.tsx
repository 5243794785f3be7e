import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { buttonClass } from '../components/button.tsx';
import { CardForm } from './card-form.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';
import { NewPasswordField } from './new-password-field.tsx';

/** Gives an account its previous sign-in address back, and a new password. */
export function UndoEmailChangePage() {
  const queries = useQueryClient();
  const token = useLinkToken();
  const [password, setPassword] = useState('');
  const undoing = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/email-changes/undo', { body: { token, password } })),
    onSuccess: () => queries.clear(),
  });
  if (undoing.isSuccess) {
    return (
      <CardPage title="Change undone">
        <p className="mb-4 text-sm text-soft">
          Everyone has been signed out. Sign in with your previous address and your new password.
        </p>
        <Link to="/sign-in" className={`${buttonClass('primary')} w-full`}>
          Sign in
        </Link>
      </CardPage>
    );
  }
  if (toProblem(undoing.error).code === 'invalid_link') {
    return (
      <CardPage title="Undo the email change">
        <ErrorAlert error={undoing.error} />
      </CardPage>
    );
  }
  return (
    <CardPage
      title="Undo the email change"
      description="Your account gets its previous address back. Set a new password, in case someone else knows the current one."
    >
      <CardForm saving={undoing} fields={['/password']} submitLabel="Undo the change">
        <NewPasswordField
          value={password}
          onChange={setPassword}
          error={fieldError(undoing.error, '/password')}
          autoFocus
        />
      </CardForm>
    </CardPage>
  );
}
