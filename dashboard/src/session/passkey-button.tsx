import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fingerprint } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { browserHasPasskeys, offerPasskeys, signInWithPasskey } from './passkeys.ts';
import { completeSignIn, type Me } from './session.ts';
import { useSignInOptions } from './single-sign-on.tsx';

/** Nothing where the server or the browser has no passkeys. */
export function PasskeyButton({
  autofill = false,
  onDone,
}: {
  /** Also offer passkeys in a field of the page whose `autocomplete` contains `webauthn`. */
  autofill?: boolean;
  onDone: (me: Me) => void;
}) {
  const queries = useQueryClient();
  const options = useSignInOptions(undefined);
  const proceed = (me: Me | null) => {
    if (me === null) return;
    completeSignIn(queries, me);
    onDone(me);
  };
  const signingIn = useMutation({ mutationFn: signInWithPasskey, onSuccess: proceed });
  const isAvailable = browserHasPasskeys() && options.data?.passkeys === true;
  const offer = usePasskeyOffer(autofill && isAvailable && !signingIn.isPending, proceed);
  if (!browserHasPasskeys()) return null;
  // Keeps the place, so that nothing moves when the button appears.
  if (options.isPending) return <div className="h-8" />;
  if (!isAvailable) return null;
  const error = signingIn.error ?? offer.error;
  return (
    <div className="grid gap-4">
      <Button
        icon={Fingerprint}
        className="w-full"
        busy={signingIn.isPending}
        onClick={() => {
          // A browser has one request for passkeys at a time.
          offer.end();
          signingIn.mutate();
        }}
      >
        Use a passkey
      </Button>
      {error !== null && <ErrorAlert error={error} />}
    </div>
  );
}

/** Offers the passkeys of this browser among the suggestions for the email field. */
function usePasskeyOffer(enabled: boolean, onDone: (me: Me | null) => void) {
  const [error, setError] = useState<unknown>(null);
  const current = useRef<AbortController>(undefined);
  const done = useRef(onDone);
  done.current = onDone;
  useEffect(() => {
    if (!enabled) return;
    const offered = new AbortController();
    current.current = offered;
    offerPasskeys(offered.signal).then(
      (me) => done.current(me),
      (reason: unknown) => setError(reason),
    );
    return () => offered.abort();
  }, [enabled]);
  return {
    error,
    end: () => {
      setError(null);
      current.current?.abort();
    },
  };
}
