import { ScrollText } from 'lucide-react';
import { unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { actionLabel } from '../audit-log/action-label.ts';
import { useOperatorApi } from './operator-session.ts';

/** What operator keys changed, also in workspaces that no longer exist. */
export function OperatorAuditLogPage() {
  const api = useOperatorApi();
  const list = usePaginatedQuery(['operator', 'audit-log'], (cursor) =>
    unwrap(api.GET('/api/v1/operator/audit-log', { params: { query: pageParams(cursor) } })),
  );
  return (
    <Page
      full
      title="Audit log"
      description="Changes made with operator keys, and changes to the keys, newest first."
    >
      <PaginatedList list={list} empty={<EmptyState icon={ScrollText} title="No changes yet" />}>
        <Table label="Audit log">
          <thead>
            <tr>
              <Th>Change</Th>
              <Th hideBelow="md">Target</Th>
              <Th>Actor</Th>
              <Th hideBelow="md">IP address</Th>
              <Th>Time</Th>
            </tr>
          </thead>
          <tbody>
            {list.rows.map(({ id, action, target, actor, ip, created_at }) => (
              <Tr key={id}>
                <Td>
                  <div className="font-medium">{actionLabel(action)}</div>
                  <div className="font-mono text-xs text-faint md:hidden">{target}</div>
                </Td>
                <Td hideBelow="md" className="font-mono text-xs">
                  {target}
                </Td>
                <Td>{actor.type === 'cli' ? 'Command line' : (actor.name ?? actor.id)}</Td>
                <Td hideBelow="md" className="font-mono text-xs">
                  {ip}
                </Td>
                <Td className="text-soft">
                  <Time at={created_at} />
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      </PaginatedList>
    </Page>
  );
}
