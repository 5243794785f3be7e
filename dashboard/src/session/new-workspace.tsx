import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../api/client.ts';
import { fieldError, isAboutFields } from '../api/problem.ts';
import { tell } from '../frame/toasts.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogButtons } from '../parts/dialog.tsx';
import { Field, TextInput } from '../parts/field.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { changeWorkspace, ME } from './session.ts';

export function NewWorkspace({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const making = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/workspaces', { body: { name: name.trim() } })),
    onSuccess: async (workspace) => {
      await queries.invalidateQueries({ queryKey: ME });
      onClose();
      if (await changeWorkspace(workspace.id)) tell(`You are in ${workspace.name} now.`);
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
        {making.isError && !isAboutFields(making.error, ['/name']) && (
          <ProblemNote error={making.error} />
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
