import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useCan } from '../../session/session.ts';
import type { Domain } from './domains.tsx';

/** Whether mail to the domain is received, and what is missing until it arrives. */
export function DomainReceiving({ domain }: { domain: Domain }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const can = useCan();
  const change = async (receiving: boolean) => {
    const params = { path: { id: domain.id } };
    await unwrap(api.PATCH('/api/v1/domains/{id}', { params, body: { receiving } }));
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['domain'] }),
      queries.invalidateQueries({ queryKey: ['domains'] }),
    ]);
    showToast(receiving ? 'Receiving turned on.' : 'Receiving turned off.');
  };
  const turningOn = useMutation({ mutationFn: () => change(true) });
  const turnOff = () =>
    requestConfirmation({
      title: `Stop receiving mail for ${domain.name}?`,
      body: 'Mail to its addresses is rejected from now on. Messages that were received stay. Remove the MX record as well.',
      confirmLabel: 'Turn off',
      run: () => change(false),
    });
  return (
    <Section
      title={
        <span className="flex items-center gap-2">
          Receiving
          <Badge tone={domain.receiving ? 'good' : 'plain'}>
            {domain.receiving ? 'On' : 'Off'}
          </Badge>
        </span>
      }
      actions={
        can('write:domains') &&
        (domain.receiving ? (
          <Button onClick={turnOff}>Turn off receiving</Button>
        ) : (
          <Button
            busy={turningOn.isPending}
            disabled={!canReceive(domain)}
            onClick={() => turningOn.mutate()}
          >
            Turn on receiving
          </Button>
        ))
      }
    >
      <div className="grid gap-3 text-sm wrap-anywhere text-soft">
        {turningOn.isError && <ErrorAlert error={turningOn.error} />}
        {domain.receiving ? (
          <ReceivingState domain={domain} />
        ) : (
          <>
            <p>
              Stores mail to any address at {domain.name} as inbound messages and sends it to your
              webhooks. All mail of the domain then arrives here: if it has mailboxes elsewhere, add
              a subdomain such as reply.{domain.name} instead.
            </p>
            {!canReceive(domain) && (
              <p>Receiving can be turned on as soon as the domain is verified.</p>
            )}
          </>
        )}
      </div>
    </Section>
  );
}

/** Only the owner of a domain may receive its mail. */
function canReceive({ status }: Domain): boolean {
  return status === 'verified' || status === 'degraded';
}

function ReceivingState({ domain }: { domain: Domain }) {
  const can = useCan();
  const record = domain.records.find(({ purpose }) => purpose === 'receiving');
  return (
    <p>
      {record?.status === 'found'
        ? `Mail to any address at ${domain.name} is stored as an inbound message.`
        : `Publish the MX record above, and mail to any address at ${domain.name} is stored as an inbound message.`}{' '}
      {can('read:inbound_messages') && (
        <Link
          to="/inbound"
          search={{ domain: domain.name }}
          className="font-medium text-accent-ink hover:underline"
        >
          View inbound messages
        </Link>
      )}
    </p>
  );
}
