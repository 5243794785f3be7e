import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, ask } from '../api/client.ts';
import { sessionEnded } from '../api/session-ended.ts';
import { tellProblem } from '../frame/toasts.tsx';
import { mayLeave } from './leaving.ts';

/** The way out, for who has nothing left to save. */
export function useSignOut(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const signOut = async () => {
    if (!(await mayLeave())) return;
    await ask(api.DELETE('/api/v1/session'));
    queries.clear();
    sessionEnded.set(false);
    await navigate({ to: '/sign-in' });
  };
  return () => void signOut().catch(tellProblem);
}
