import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { showToast } from '../layout/toasts.tsx';
import { ME_QUERY_KEY, switchWorkspace } from './session.ts';

export function NewWorkspace({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const creating = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/workspaces', { body: { name: name.trim() } })),
    onSuccess: async (workspace) => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      onClose();
      if (await switchWorkspace(workspace.id)) showToast(`Switched to ${workspace.name}.`);
    },
  });
  return (
    <Dialog
      title="New workspace"
      description="Each workspace has its own API keys, domains, messages and members."
      onClose={onClose}
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          creating.mutate();
        }}
      >
        <Field label="Name" error={fieldError(creating.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={100}
            autoFocus
          />
        </Field>
        {creating.isError && !hasOnlyFieldErrors(creating.error, ['/name']) && (
          <ErrorAlert error={creating.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={creating.isPending}>
            Create workspace
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
