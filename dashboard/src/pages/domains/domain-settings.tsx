import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Checkbox, RadioCards, Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { useCan } from '../../session/session.ts';
import type { Domain } from './domains.tsx';

export function DomainSettings({ domain }: { domain: Domain }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const mayWrite = useCan()('write:domains');
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
      showToast('The settings are saved.');
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
        <fieldset disabled={!mayWrite} className="grid gap-5">
          <RadioCards
            legend="Encryption on the way"
            columns
            value={tls}
            onChange={setTls}
            options={[
              {
                value: 'opportunistic',
                label: 'Wherever possible',
                hint: 'Encrypted if the receiver can.',
              },
              { value: 'required', label: 'Always', hint: 'Encrypted or not at all.' },
            ]}
          />
          <div className="grid gap-2">
            <Checkbox
              label="Track opens"
              hint="Adds a tiny picture. Many mail programs load it by themselves, so the numbers are rough."
              checked={tracking.opens}
              onChange={(opens) => setTracking({ ...tracking, opens })}
            />
            <Checkbox
              label="Track clicks"
              hint="Links lead over us. A send may say otherwise."
              checked={tracking.clicks}
              onChange={(clicks) => setTracking({ ...tracking, clicks })}
            />
          </div>
          <Field
            label="Host of tracked links"
            optional
            hint="Below the domain, so that links look like yours. Empty: our own host."
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
        {mayWrite && (
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
