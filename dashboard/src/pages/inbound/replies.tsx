import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Reply } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { IconButton } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { useCan } from '../../session/session.ts';
import { SimulateDialog } from './simulate-dialog.tsx';
import { senderOf } from './use-inbound-messages.ts';

const SHOWN = 5;

/** The replies to a message that were received; hidden while there are none and none can be simulated. */
export function Replies({ message }: { message: Schema<'Message'> }) {
  const { api, key } = useApi();
  const can = useCan();
  const [simulating, setSimulating] = useState(false);
  const canRead = can('read:inbound_messages');
  const canSimulate = can('write:inbound_messages') && message.mode === 'test';
  const replies = useQuery({
    queryKey: key('replies', message.id),
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/inbound-messages', {
          params: { query: { in_reply_to_message_id: message.id, limit: SHOWN } },
        }),
      ),
    enabled: canRead,
  });
  const rows = replies.data?.data ?? [];
  if (!canRead || (rows.length === 0 && !canSimulate)) return null;
  return (
    <Section
      title="Replies"
      actions={
        canSimulate && (
          <IconButton icon={Reply} label="Simulate reply" onClick={() => setSimulating(true)} />
        )
      }
    >
      {rows.length === 0 ? (
        <p className="text-sm text-soft">No replies received.</p>
      ) : (
        <ul aria-label="Replies" className="grid gap-2.5">
          {rows.map((reply) => (
            <li key={reply.id} className="text-sm">
              <Link
                to="/inbound/$id"
                params={{ id: reply.id }}
                className="block truncate font-medium hover:underline"
              >
                <bdi>{senderOf(reply).name}</bdi>
              </Link>
              <Time at={reply.received_at} className="text-xs text-faint" />
            </li>
          ))}
        </ul>
      )}
      {replies.data?.next_cursor && (
        <Link
          to="/inbound"
          search={{ answers: message.id }}
          className="mt-3 inline-block text-xs font-medium text-accent-ink hover:underline"
        >
          View all replies
        </Link>
      )}
      {simulating && (
        <SimulateDialog
          reply={{
            messageId: message.id,
            from: message.recipients[0]?.email ?? '',
            to: message.from.email,
            subject: message.subject,
          }}
          onClose={() => setSimulating(false)}
        />
      )}
    </Section>
  );
}
