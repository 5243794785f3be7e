import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Checkbox, Field, RadioCards, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useCan } from '../../session/session.ts';
import type { Domain } from './domains.tsx';

export function DomainSettings({ domain }: { domain: Domain }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const canWrite = useCan()('write:domains');
  const [tls, setTls] = useState(domain.tls);
  const [tracking, setTracking] = useState(domain.tracking);
  const [host, setHost] = useState(domain.tracking_host ?? '');
  const saving = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH('/api/v1/domains/{id}', {
          params: { path: { id: domain.id } },
          body: { tls, tracking, tracking_host: host.trim() || null },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['domain'] });
      showToast('Settings saved.');
    },
  });
  const same =
    tls === domain.tls &&
    tracking.opens === domain.tracking.opens &&
    tracking.clicks === domain.tracking.clicks &&
    host.trim() === (domain.tracking_host ?? '');
  return (
    <Section title="Settings">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          saving.mutate();
        }}
      >
        <fieldset disabled={!canWrite} className="grid gap-5">
          <RadioCards
            legend="TLS"
            columns
            value={tls}
            onChange={setTls}
            options={[
              {
                value: 'opportunistic',
                label: 'Opportunistic',
                hint: 'Encrypted if the receiving server supports it.',
              },
              { value: 'required', label: 'Required', hint: 'Not delivered without encryption.' },
            ]}
          />
          <div className="grid gap-2">
            <Checkbox
              label="Track opens"
              hint="Adds a tracking pixel. Many email clients preload it, so open counts are approximate."
              checked={tracking.opens}
              onChange={(opens) => setTracking({ ...tracking, opens })}
            />
            <Checkbox
              label="Track clicks"
              hint="Rewrites links for click tracking. Can be overridden per message."
              checked={tracking.clicks}
              onChange={(clicks) => setTracking({ ...tracking, clicks })}
            />
          </div>
          <Field
            label="Tracking host"
            optional
            hint="A subdomain for tracked links. Leave empty to use this server’s host."
            error={fieldError(saving.error, '/tracking_host')}
          >
            <TextInput
              value={host}
              onChange={(event) => setHost(event.target.value)}
              placeholder={`links.${domain.name}`}
            />
          </Field>
        </fieldset>
        {saving.isError && !hasOnlyFieldErrors(saving.error, ['/tracking_host']) && (
          <ErrorAlert error={saving.error} className="mt-4" />
        )}
        {canWrite && (
          <div className="mt-4">
            <Button type="submit" kind="primary" disabled={same} busy={saving.isPending}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Section>
  );
}
