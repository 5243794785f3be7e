import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { capitalize } from '../../lib/format.ts';
import { useOperatorChanged } from './operator-changes.ts';
import { useOperatorApi } from './operator-session.ts';

export function MembersSection({ workspace }: { workspace: Schema<'OperatorWorkspace'> }) {
  const api = useOperatorApi();
  const changed = useOperatorChanged();
  const { id } = workspace;
  const members = usePaginatedQuery(['operator', 'workspace', id, 'members'], (cursor) =>
    unwrap(
      api.GET('/api/v1/operator/workspaces/{id}/members', {
        params: { path: { id }, query: pageParams(cursor) },
      }),
    ),
  );
  const remove = ({ id: member, name }: Schema<'Member'>) =>
    requestConfirmation({
      title: `Remove ${name} from ${workspace.name}?`,
      body: 'They lose access at once. API keys that they created keep working.',
      confirmLabel: 'Remove',
      run: async () => {
        const path = { id: workspace.id, member };
        await unwrap(
          api.DELETE('/api/v1/operator/workspaces/{id}/members/{member}', { params: { path } }),
        );
        await changed('Member removed.');
      },
    });
  return (
    <Section title="Members">
      <PaginatedList
        list={members}
        placeholderRows={3}
        errorClassName=""
        empty={
          <p className="text-sm text-soft">
            No members yet. Invite the first owner, who can invite others.
          </p>
        }
      >
        <ul className="grid gap-1.5 text-sm">
          {members.rows.map((member) => (
            <li key={member.id} className="flex items-center gap-3">
              <div className="flex min-w-0 flex-1 flex-wrap gap-x-3 wrap-anywhere">
                <span className="font-medium">{member.name}</span>
                <span className="text-soft">{member.email}</span>
              </div>
              <span className="text-faint">{capitalize(member.role)}</span>
              <Button
                kind="danger-quiet"
                aria-label={`Remove ${member.name}`}
                onClick={() => remove(member)}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      </PaginatedList>
    </Section>
  );
}
