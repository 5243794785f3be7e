import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, unwrap } from '../api/client.ts';
import { sessionEnded } from '../api/session-signals.ts';
import { showErrorToast } from '../layout/toasts.tsx';
import { canLeave } from './leave-guards.ts';

/** Signs out, unless the user chooses to stay because of unsaved changes. */
export function useSignOut(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const signOut = async () => {
    if (!(await canLeave())) return;
    const signedOut = await unwrap(api.DELETE('/api/v1/session'));
    queries.clear();
    sessionEnded.set(false);
    const { provider_sign_out_url: url } = signedOut ?? {};
    // The provider sends the browser back to the sign-in page.
    if (url !== undefined) return window.location.assign(url);
    await navigate({ to: '/sign-in' });
  };
  return () => void signOut().catch(showErrorToast);
}
