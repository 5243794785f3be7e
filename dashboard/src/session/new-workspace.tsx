import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { showToast } from '../layout/toasts.tsx';
import { Button } from '../components/button.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { ErrorAlert } from '../components/alert.tsx';
import { switchWorkspace, ME_QUERY_KEY } from './session.ts';

export function NewWorkspace({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const making = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/workspaces', { body: { name: name.trim() } })),
    onSuccess: async (workspace) => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      onClose();
      if (await switchWorkspace(workspace.id)) showToast(`You are in ${workspace.name} now.`);
    },
  });
  return (
    <Dialog
      title="New workspace"
      description="Its keys, domains, messages and people are apart from those of every other."
      onClose={onClose}
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        <Field label="Name" error={fieldError(making.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={100}
            autoFocus
          />
        </Field>
        {making.isError && !hasOnlyFieldErrors(making.error, ['/name']) && (
          <ErrorAlert error={making.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={making.isPending}>
            Create workspace
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
