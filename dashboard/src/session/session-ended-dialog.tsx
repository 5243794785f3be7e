import { useQueryClient } from '@tanstack/react-query';
import { Dialog } from '../components/dialog.tsx';
import { useMe } from './session.ts';
import { SignInForm } from './sign-in-form.tsx';

/** Over the page, which stays as it is: what was being written is not lost. */
export function SessionEndedDialog() {
  const { email } = useMe();
  const queries = useQueryClient();
  return (
    <Dialog
      title="Your session has ended"
      description="Sign in again to go on. What you were writing is still here."
      onClose={() => {}}
      persistent
    >
      <SignInForm email={email} onDone={() => void queries.invalidateQueries()} />
    </Dialog>
  );
}
