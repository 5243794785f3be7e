import { useQueryClient } from '@tanstack/react-query';
import { sessionEnded } from '../api/session-signals.ts';
import { Button, buttonClass } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { ME_QUERY_KEY, type Me, useMe } from './session.ts';
import { SignInForm } from './sign-in-form.tsx';
import { SingleSignOnButton } from './single-sign-on.tsx';

/** Opens over the current page, which keeps its state and any unsaved text. */
export function SessionEndedDialog() {
  const { email, session } = useMe();
  const proceed = useResume();
  return (
    <Dialog
      title="Your session has ended"
      description="Sign in again to continue. Your unsaved work is still here."
      onClose={() => {}}
      persistent
    >
      {session.single_sign_on ? (
        <SingleSignOnAgain workspace={session.limited_to ?? undefined} />
      ) : (
        <div className="grid gap-4">
          <SignInForm email={email} onDone={proceed} />
          <PasskeyButton onDone={proceed} />
        </div>
      )}
    </Dialog>
  );
}

/** Continues with the open page, unless someone else has signed in: what it shows is not theirs. */
function useResume(): () => void {
  const { id } = useMe();
  const queries = useQueryClient();
  const resume = async () => {
    sessionEnded.set(false);
    await queries.invalidateQueries();
    const now = queries.getQueryData<Me>(ME_QUERY_KEY);
    if (now && now.id !== id) location.assign('/app');
  };
  return () => void resume();
}

/** The provider needs a page of its own, so it gets another tab. It may have been removed. */
function SingleSignOnAgain({ workspace }: { workspace: string | undefined }) {
  const proceed = useResume();
  return (
    <div className="grid gap-2">
      <SingleSignOnButton workspace={workspace} newTab />
      <a href="/app/sign-in" target="_blank" rel="noreferrer" className={`${buttonClass()} w-full`}>
        Other ways to sign in
      </a>
      <Button kind="primary" className="w-full" onClick={proceed}>
        I’ve signed in
      </Button>
    </div>
  );
}
