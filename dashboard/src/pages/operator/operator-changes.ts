import { useMutation, useQueryClient } from '@tanstack/react-query';
import { showToast } from '../../layout/toasts.tsx';

export interface WorkspaceDialogProps {
  /** Of the workspace. */
  id: string;
  onClose: () => void;
}

/** Refetches what the operator pages show, then shows a toast. */
export function useOperatorChanged(): (toast: string) => Promise<void> {
  const queries = useQueryClient();
  return async (toast) => {
    await queries.invalidateQueries({ queryKey: ['operator'] });
    showToast(toast);
  };
}

/** A form in a dialog whose result changes what the operator pages show. */
export function useOperatorMutation<T>(change: () => Promise<T>, onSuccess: (result: T) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (result) => {
      await queries.invalidateQueries({ queryKey: ['operator'] });
      onSuccess(result);
    },
  });
}
