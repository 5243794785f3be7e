import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { formatNumber } from '../../lib/format.ts';
import { UsageTable } from '../settings/usage-table.tsx';
import { useOperatorChanged } from './operator-changes.ts';
import { useOperatorApi } from './operator-session.ts';
import { BrakeSection, ProbationSection } from './operator-workspace-brake.tsx';
import {
  CreateFirstKey,
  EditQuotas,
  InviteToWorkspace,
  RenameWorkspace,
  Suspend,
} from './operator-workspace-dialogs.tsx';
import { MembersSection } from './operator-workspace-members.tsx';
import { WorkspaceState } from './operator-workspaces.tsx';

type Workspace = Schema<'OperatorWorkspace'>;
type Brake = Schema<'WorkspaceBrake'>;
type Usage = Schema<'Usage'>;
type OpenDialog = 'suspend' | 'quotas' | 'invite' | 'key' | 'rename';

/** One workspace as the operator sees it: state, usage, members, and what limits it. */
export function OperatorWorkspacePage() {
  const { id } = useParams({ from: '/operator/workspaces/$id' });
  const api = useOperatorApi();
  const [dialog, setDialog] = useState<OpenDialog>();
  const path = { params: { path: { id } } };
  const query = useQuery({
    queryKey: ['operator', 'workspace', id],
    queryFn: async () => {
      const [workspace, usage, brake] = await Promise.all([
        unwrap(api.GET('/api/v1/operator/workspaces/{id}', path)),
        unwrap(api.GET('/api/v1/operator/workspaces/{id}/usage', path)),
        unwrap(api.GET('/api/v1/operator/workspaces/{id}/brake', path)),
      ]);
      return { workspace, usage, brake };
    },
  });
  if (query.isPending) return <SkeletonRows />;
  if (query.isLoadingError) {
    return (
      <Page title="Workspace" back={{ to: '/operator', label: 'Workspaces' }}>
        <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  const { workspace, usage, brake } = query.data;
  const close = () => setDialog(undefined);
  return (
    <Page
      title={workspace.name}
      back={{ to: '/operator', label: 'Workspaces' }}
      actions={
        <>
          <ExportButton id={id} />
          <Button onClick={() => setDialog('rename')}>Rename</Button>
          <Button onClick={() => setDialog('key')}>Create API key</Button>
          <Button onClick={() => setDialog('invite')}>Invite member</Button>
        </>
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <StateSection workspace={workspace} brake={brake} onSuspend={() => setDialog('suspend')} />
        <UsageSection usage={usage} onEdit={() => setDialog('quotas')} />
        <BrakeSection id={id} brake={brake} />
        <ProbationSection id={id} brake={brake} />
        <MembersSection workspace={workspace} />
        <DeletionSection workspace={workspace} />
      </div>
      {dialog === 'suspend' && <Suspend id={id} onClose={close} />}
      {dialog === 'quotas' && <EditQuotas id={id} onClose={close} />}
      {dialog === 'rename' && <RenameWorkspace id={id} name={workspace.name} onClose={close} />}
      {dialog === 'invite' && <InviteToWorkspace id={id} onClose={close} />}
      {dialog === 'key' && <CreateFirstKey id={id} onClose={close} />}
    </Page>
  );
}

function ExportButton({ id }: { id: string }) {
  const api = useOperatorApi();
  const [busy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    try {
      const request = { params: { path: { id } }, parseAs: 'blob' as const };
      const file = await unwrap(api.GET('/api/v1/operator/workspaces/{id}/export', request));
      downloadFile(file, `${id}.ndjson`);
    } catch (error) {
      showErrorToast(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button icon={Download} busy={busy} onClick={() => void download()}>
      Export
    </Button>
  );
}

function StateSection({
  workspace,
  brake: { brake },
  onSuspend,
}: {
  workspace: Workspace;
  brake: Brake;
  onSuspend: () => void;
}) {
  const api = useOperatorApi();
  const changed = useOperatorChanged();
  const path = { params: { path: { id: workspace.id } } };
  const resume = () =>
    requestConfirmation({
      title: `Resume ${workspace.name}?`,
      body: 'Held mail is sent with its next attempt, unless it has expired.',
      confirmLabel: 'Resume',
      run: async () => {
        // Otherwise the brake would stay on until its next check.
        if (brake?.state === 'paused') {
          await unwrap(api.DELETE('/api/v1/operator/workspaces/{id}/brake', path));
        }
        await unwrap(api.DELETE('/api/v1/operator/workspaces/{id}/suspension', path));
        await changed('Workspace resumed.');
      },
    });
  const release = () =>
    requestConfirmation({
      title: 'Release the brake?',
      body: 'The workspace gets its full rate back. Bounces and complaints until now no longer count.',
      confirmLabel: 'Release',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/operator/workspaces/{id}/brake', path));
        await changed('Brake released.');
      },
    });
  return (
    <Section
      title="State"
      actions={
        workspace.suspended ? (
          <Button onClick={resume}>Resume</Button>
        ) : (
          <>
            {brake && <Button onClick={release}>Release brake</Button>}
            <Button kind="danger-quiet" onClick={onSuspend}>
              Suspend
            </Button>
          </>
        )
      }
    >
      <div className="grid gap-3">
        {workspace.suspended && (
          <Alert tone="bad" title={workspace.suspended.reason}>
            <p>
              Live sending has been suspended since <Time at={workspace.suspended.since} />.
            </p>
          </Alert>
        )}
        {brake?.state === 'slowed' && (
          <Alert tone="warn" title={brake.explanation}>
            <p>
              Slowed down to {formatNumber(brake.messages_per_hour)} messages per hour since{' '}
              <Time at={brake.since} />.
            </p>
          </Alert>
        )}
        <DetailList>
          <Detail name="State">
            <WorkspaceState {...workspace} brake={brake?.state ?? null} />
          </Detail>
          <Detail name="ID">
            <CopyCode text={workspace.id} />
          </Detail>
          <Detail name="Created">
            <Time at={workspace.created_at} />
          </Detail>
        </DetailList>
      </div>
    </Section>
  );
}

function UsageSection({ usage, onEdit }: { usage: Usage; onEdit: () => void }) {
  return (
    <Section
      title="Usage"
      description="Live mail; periods are in UTC."
      actions={<Button onClick={onEdit}>Edit quotas</Button>}
    >
      <UsageTable usage={usage} />
    </Section>
  );
}

function DeletionSection({ workspace }: { workspace: Workspace }) {
  const api = useOperatorApi();
  const changed = useOperatorChanged();
  const { id, name, deletion } = workspace;
  const path = { params: { path: { id } } };
  const remove = () =>
    requestConfirmation({
      title: `Delete ${name}?`,
      body: 'Live mail is held at once. All data of the workspace is deleted when its grace period ends; until then it can be restored.',
      confirmLabel: 'Delete workspace',
      typeToConfirm: name,
      run: async () => {
        await unwrap(
          api.POST('/api/v1/operator/workspaces/{id}/deletion', { ...path, body: { name } }),
        );
        await changed('Workspace scheduled for deletion.');
      },
    });
  const restore = () =>
    requestConfirmation({
      title: `Restore ${name}?`,
      body: 'The workspace can send again.',
      confirmLabel: 'Restore',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/operator/workspaces/{id}/deletion', path));
        await changed('Workspace restored.');
      },
    });
  return (
    <Section
      title="Deletion"
      actions={
        deletion ? (
          <Button onClick={restore}>Restore</Button>
        ) : (
          <Button kind="danger-quiet" onClick={remove}>
            Delete workspace
          </Button>
        )
      }
    >
      <p className="text-sm text-soft">
        {deletion ? (
          <>
            All data of this workspace is deleted <Time at={deletion.delete_at} />.
          </>
        ) : (
          'Deletes messages, contacts, keys and all other data of this workspace.'
        )}
      </p>
    </Section>
  );
}
