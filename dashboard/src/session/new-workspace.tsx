import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.ts';
import { NameDialog } from '../components/dialog-form.tsx';
import { showToast } from '../layout/toasts.tsx';
import { ME_QUERY_KEY, switchWorkspace } from './session.ts';

export function NewWorkspace({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const create = async (name: string) => {
    const workspace = await unwrap(api.POST('/api/v1/workspaces', { body: { name } }));
    await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
    onClose();
    if (await switchWorkspace(workspace.id)) showToast(`Switched to ${workspace.name}.`);
  };
  return (
    <NameDialog
      title="New workspace"
      description="Each workspace has its own API keys, domains, messages and members."
      submitLabel="Create workspace"
      onSubmit={create}
      onClose={onClose}
    />
  );
}
