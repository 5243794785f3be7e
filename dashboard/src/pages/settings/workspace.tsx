import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { fieldError, isAboutFields } from '../../api/problem.ts';
import { tell } from '../../frame/toasts.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyCode } from '../../parts/copy.tsx';
import { Field, TextInput } from '../../parts/field.tsx';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { Time } from '../../parts/time.tsx';
import { ME, useMay, useWorkspace } from '../../session/session.ts';

export function WorkspaceSettings() {
  const workspace = useWorkspace();
  return (
    <div className="grid max-w-2xl gap-5">
      <Section title="Workspace">
        <Facts>
          <Fact name="Id">
            <CopyCode text={workspace.id} />
          </Fact>
          <Fact name="Your role">{workspace.role}</Fact>
          <Fact name="Made">
            <Time at={workspace.created_at} />
          </Fact>
        </Facts>
        <Rename key={workspace.id} />
      </Section>
    </div>
  );
}

function Rename() {
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const may = useMay()('write:workspace');
  const [name, setName] = useState(workspace.name);
  const renaming = useMutation({
    mutationFn: () =>
      ask(
        api.PATCH('/api/v1/workspaces/{id}', {
          params: { path: { id: workspace.id } },
          body: { name: name.trim() },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ME });
      tell('The workspace has a new name.');
    },
  });
  if (!may) return null;
  return (
    <form
      className="mt-5 grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        renaming.mutate();
      }}
    >
      <Field label="Name" error={fieldError(renaming.error, '/name')}>
        <TextInput value={name} onChange={(event) => setName(event.target.value)} required />
      </Field>
      {renaming.isError && !isAboutFields(renaming.error, ['/name']) && (
        <ProblemNote error={renaming.error} />
      )}
      <div>
        <Button
          type="submit"
          kind="primary"
          busy={renaming.isPending}
          disabled={name.trim() === workspace.name || name.trim() === ''}
        >
          Save
        </Button>
      </div>
    </form>
  );
}
