import { Flag } from 'lucide-react';
import { Badge, StatusBadge } from '../../components/badge.tsx';

/**
 * The status of a message or of a recipient. A complaint does not change the status, but matters more
 * than the delivery before it.
 */
export function MessageStatus({
  status,
  recipients,
}: {
  status: string;
  recipients: readonly { complained_at: string | null }[];
}) {
  if (!hasComplaint(recipients)) return <StatusBadge status={status} />;
  const icon = <Flag className="size-3" aria-hidden />;
  if (status === 'delivered') {
    return (
      <Badge tone="bad">
        {icon}
        Complained
      </Badge>
    );
  }
  return (
    <span className="inline-flex items-center gap-1">
      <StatusBadge status={status} />
      <span className="text-bad" title="Spam complaint">
        {icon}
        <span className="sr-only">Spam complaint</span>
      </span>
    </span>
  );
}

function hasComplaint(recipients: readonly { complained_at: string | null }[]): boolean {
  return recipients.some(({ complained_at: at }) => at !== null);
}
