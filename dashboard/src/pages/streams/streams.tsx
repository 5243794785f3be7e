import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { Loadable } from '../../components/paginated-list.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { capitalize, formatCount, formatNumber } from '../../lib/format.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { CreateStream, EditStream } from './stream-dialogs.tsx';
import { type Stream, useStreams } from './use-streams.ts';

/** Every workspace has it. */
const DEFAULT_STREAM = 'transactional';

export function StreamsPage() {
  const { new: adding } = useSearch({ from: '/inside/streams' });
  const formOpen = useFormOpen(adding !== undefined, 'write:streams');
  const canWrite = useCan()('write:streams');
  const navigate = useNavigate();
  const [editing, setEditing] = useState<Stream>();
  const list = useStreams();
  const add = (on: boolean) =>
    void navigate({ to: '/streams', search: on ? { new: 'true' } : {}, replace: !on });
  return (
    <Page
      full
      title="Streams"
      description="Kinds of mail that recipients can stop separately. Live and test mode share them."
      actions={
        canWrite && (
          <Button kind="primary" icon={Plus} onClick={() => add(true)}>
            Create stream
          </Button>
        )
      }
    >
      <Loadable query={list} placeholderRows={3}>
        <StreamTable streams={list.data ?? []} canWrite={canWrite} onEdit={setEditing} />
      </Loadable>
      {formOpen && <CreateStream onClose={() => add(false)} />}
      {editing && <EditStream stream={editing} onClose={() => setEditing(undefined)} />}
    </Page>
  );
}

function StreamTable({
  streams,
  canWrite,
  onEdit,
}: {
  streams: Stream[];
  canWrite: boolean;
  onEdit: (stream: Stream) => void;
}) {
  const remove = useRemove();
  return (
    <Table label="Streams">
      <thead>
        <tr>
          <Th>Stream</Th>
          <Th>Purpose</Th>
          <Th hideBelow="md">Defaults</Th>
          <Th hideBelow="md">Show</Th>
          <Th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {streams.map((stream) => (
          <Tr key={stream.key}>
            <Td>
              <div className="font-medium">{stream.name}</div>
              <div className="font-mono text-xs text-faint">{stream.key}</div>
            </Td>
            <Td>
              <Badge tone={stream.purpose === 'subscription' ? 'info' : 'plain'}>
                {capitalize(stream.purpose)}
              </Badge>
            </Td>
            <Td hideBelow="md" className="text-soft">
              {describeDefaults(stream).map((line) => (
                <p key={line}>{line}</p>
              ))}
            </Td>
            <Td hideBelow="md">
              <span className="flex gap-3 text-xs font-medium whitespace-nowrap text-accent-ink">
                <Link to="/" search={{ stream: stream.key }} className="hover:underline">
                  Statistics
                </Link>
                <Link to="/messages" search={{ stream: stream.key }} className="hover:underline">
                  Messages
                </Link>
                <Link
                  to="/suppressions"
                  search={{ stream: stream.key }}
                  className="hover:underline"
                >
                  Suppressions
                </Link>
              </span>
            </Td>
            <Td className="w-px">
              {canWrite && (
                <span className="flex justify-end">
                  <IconButton
                    icon={Pencil}
                    label={`Edit ${stream.name}`}
                    onClick={() => onEdit(stream)}
                  />
                  {stream.key !== DEFAULT_STREAM && (
                    <IconButton
                      icon={Trash2}
                      danger
                      label={`Delete ${stream.name}`}
                      onClick={() => remove(stream)}
                    />
                  )}
                </span>
              )}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

/** What the stream sets for its mail, if anything. */
function describeDefaults(stream: Stream): string[] {
  const { opens, clicks } = stream.tracking;
  const tracked = [
    ['opens', opens],
    ['clicks', clicks],
  ].flatMap(([name, on]) => (on === null ? [] : [`${name} ${on ? 'on' : 'off'}`]));
  const lines = [
    stream.from && `From ${stream.from.email}`,
    tracked.length > 0 && `Tracking: ${tracked.join(', ')}`,
    stream.route && `Route ${stream.route}`,
    stream.messages_per_minute && `${formatNumber(stream.messages_per_minute)} per minute`,
    stream.content_retention_days &&
      `Content kept for ${formatCount(stream.content_retention_days, 'day')}`,
  ].filter((line) => typeof line === 'string');
  return lines.length > 0 ? lines : ['None'];
}

function useRemove(): (stream: Stream) => void {
  const { api } = useApi();
  const queries = useQueryClient();
  return (stream) =>
    requestConfirmation({
      title: `Delete ${stream.name}?`,
      body: 'Messages keep its key. Addresses that left it stay suppressed if you create it again.',
      confirmLabel: 'Delete',
      run: async () => {
        await unwrap(
          api.DELETE('/api/v1/streams/{key}', { params: { path: { key: stream.key } } }),
        );
        await queries.invalidateQueries({ queryKey: ['streams'] });
        showToast(`${stream.name} deleted.`);
      },
    });
}
