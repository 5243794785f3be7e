import { useQueryClient } from '@tanstack/react-query';
import { Dialog } from '../components/dialog.tsx';
import { useMe } from './session.ts';
import { SignInForm } from './sign-in-form.tsx';

/** Opens over the current page, which keeps its state and any unsaved text. */
export function SessionEndedDialog() {
  const { email } = useMe();
  const queries = useQueryClient();
  return (
    <Dialog
      title="Your session has ended"
      description="Sign in again to continue. Your unsaved work is still here."
      onClose={() => {}}
      persistent
    >
      <SignInForm email={email} onDone={() => void queries.invalidateQueries()} />
    </Dialog>
  );
}
