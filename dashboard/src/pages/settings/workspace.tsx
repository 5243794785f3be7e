import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Detail, DetailList, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { capitalize } from '../../lib/format.ts';
import { ME_QUERY_KEY, useCan, useWorkspace } from '../../session/session.ts';
import { WorkspaceDeletion } from './delete-workspace.tsx';
import { SingleSignOnSettings } from './single-sign-on.tsx';

export function WorkspaceSettings() {
  const workspace = useWorkspace();
  return (
    <div className="grid max-w-2xl gap-5">
      <Section title="Workspace">
        <DetailList>
          <Detail name="ID">
            <CopyCode text={workspace.id} />
          </Detail>
          <Detail name="Your role">{capitalize(workspace.role)}</Detail>
          <Detail name="Created">
            <Time at={workspace.created_at} />
          </Detail>
        </DetailList>
        <Rename key={workspace.id} />
      </Section>
      <SingleSignOnSettings key={`sign-on ${workspace.id}`} />
      <WorkspaceDeletion key={workspace.id} />
    </div>
  );
}

function Rename() {
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const can = useCan()('write:workspace');
  const [name, setName] = useState(workspace.name);
  const renaming = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH('/api/v1/workspaces/{id}', {
          params: { path: { id: workspace.id } },
          body: { name: name.trim() },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      showToast('Workspace renamed.');
    },
  });
  if (!can) return null;
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
      {renaming.isError && !hasOnlyFieldErrors(renaming.error, ['/name']) && (
        <ErrorAlert error={renaming.error} />
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
