import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button, buttonClass } from '../components/button.tsx';
import { CardPage } from './card-page.tsx';
import { NewPasswordField } from './new-password-field.tsx';

/** Gives an account its previous sign-in address back, and a new password. */
export function UndoEmailChangePage() {
  const queries = useQueryClient();
  const [token] = useState(() => location.hash.slice(1));
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
  return (
    <CardPage
      title="Undo the email change"
      description="Your account gets its previous address back. Set a new password, in case someone else knows the current one."
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          undoing.mutate();
        }}
      >
        <NewPasswordField
          value={password}
          onChange={setPassword}
          error={fieldError(undoing.error, '/password')}
        />
        {undoing.isError && !hasOnlyFieldErrors(undoing.error, ['/password']) && (
          <ErrorAlert error={undoing.error} />
        )}
        <Button type="submit" kind="primary" busy={undoing.isPending} className="w-full">
          Undo the change
        </Button>
      </form>
    </CardPage>
  );
}
