import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fingerprint } from 'lucide-react';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { browserHasPasskeys, signInWithPasskey } from './passkeys.ts';
import { completeSignIn, type Me } from './session.ts';
import { useSignInOptions } from './single-sign-on.tsx';

/** Nothing where the server or the browser has no passkeys. */
export function PasskeyButton({ onDone }: { onDone: (me: Me) => void }) {
  const queries = useQueryClient();
  const options = useSignInOptions(undefined);
  const signingIn = useMutation({
    mutationFn: signInWithPasskey,
    onSuccess: (me) => {
      if (me === null) return;
      completeSignIn(queries, me);
      onDone(me);
    },
  });
  if (!browserHasPasskeys()) return null;
  // Keeps the place, so that nothing moves when the button appears.
  if (options.isPending) return <div className="h-8" />;
  if (!options.data?.passkeys) return null;
  return (
    <div className="grid gap-4">
      <Button
        icon={Fingerprint}
        className="w-full"
        busy={signingIn.isPending}
        onClick={() => signingIn.mutate()}
      >
        Use a passkey
      </Button>
      {signingIn.isError && <ErrorAlert error={signingIn.error} />}
    </div>
  );
}
