import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { DEFAULT_GRACE_SECONDS, GracePeriodField } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../layout/toasts.tsx';
import type { Webhook } from './endpoint-status.tsx';
import { headerChange, rowsOf } from './header-fields.tsx';
import { shownByFields, type WebhookFields, WebhookForm } from './webhook-form.tsx';
import type { WebhookFormat } from './webhook-formats.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

type Events = NonNullable<Schema<'CreateWebhook'>['events']>;

function bodyOf({ url, description, events, streams, enabled, headers }: WebhookFields) {
  const change = headerChange(headers);
  return {
    url: url.trim(),
    description: description.trim(),
    events: events as Events,
    streams,
    enabled,
    ...(Object.keys(change).length > 0 ? { headers: change } : {}),
  };
}

export function CreateWebhook({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [fields, setFields] = useState<WebhookFields>({
    url: '',
    description: '',
    format: 'postrider',
    events: ['*'],
    streams: [],
    enabled: true,
    headers: [],
  });
  const creating = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/webhooks', { body: { ...bodyOf(fields), format: fields.format } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  });
  if (creating.data) {
    const { id } = creating.data;
    return (
      <WebhookSecret
        title="Endpoint created"
        webhook={creating.data}
        onClose={() => void navigate({ to: '/webhooks/$id', params: { id } })}
      />
    );
  }
  return (
    <Dialog title="Add webhook endpoint" onClose={onClose}>
      <DialogForm
        saving={creating}
        fields={shownByFields(fields)}
        submitLabel="Add endpoint"
        disabled={fields.events.length === 0}
        onClose={onClose}
      >
        <WebhookForm value={fields} onChange={setFields} error={creating.error} isNew />
      </DialogForm>
    </Dialog>
  );
}

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useApi();
  const changed = useWebhookChanged();
  const [fields, setFields] = useState<WebhookFields>({
    url: webhook.url,
    description: webhook.description,
    format: webhook.format,
    events: webhook.events,
    streams: webhook.streams,
    enabled: webhook.enabled,
    headers: rowsOf(webhook.headers),
  });
  const changing = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH('/api/v1/webhooks/{id}', {
          params: { path: { id: webhook.id } },
          body: bodyOf(fields),
        }),
      ),
    onSuccess: async () => {
      await changed();
      showToast('Endpoint updated.');
      onClose();
    },
  });
  return (
    <Dialog title="Edit endpoint" onClose={onClose}>
      <DialogForm
        saving={changing}
        fields={shownByFields(fields)}
        submitLabel="Save"
        disabled={fields.events.length === 0}
        onClose={onClose}
      >
        <WebhookForm value={fields} onChange={setFields} error={changing.error} />
      </DialogForm>
    </Dialog>
  );
}

export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useApi();
  const [grace, setGrace] = useState(DEFAULT_GRACE_SECONDS);
  const rotating = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/webhooks/{id}/rotate-secret', {
          params: { path: { id: webhook.id } },
          body: { grace_seconds: grace },
        }),
      ),
  });
  if (rotating.data) {
    return (
      <WebhookSecret title="New signing secret" webhook={rotating.data} onClose={onClose}>
        {grace > 0 && (
          <Alert tone="info" title="Both secrets are active">
            <p>
              {rotationOf(webhook.format)} until the old one expires{' '}
              <Time at={rotating.data.previous_ends_at} />.
            </p>
          </Alert>
        )}
      </WebhookSecret>
    );
  }
  return (
    <Dialog
      title="Rotate signing secret"
      description={`Creates a new secret. ${rotationOf(webhook.format)} during the grace period.`}
      onClose={onClose}
    >
      <DialogForm saving={rotating} submitLabel="Rotate secret" onClose={onClose}>
        <GracePeriodField
          label="Grace period for the old secret"
          seconds={grace}
          onChange={setGrace}
        />
        {grace === 0 && (
          <p className="mt-2 text-xs text-warn">
            Signature checks fail until your endpoint uses the new secret.
          </p>
        )}
      </DialogForm>
    </Dialog>
  );
}

/** How requests are signed while two secrets are valid. */
function rotationOf(format: WebhookFormat): string {
  if (format === 'sendgrid' || format === 'mailgun') return 'Requests are signed with the old key';
  if (format === 'ses-sns')
    return 'Messages are signed with the new key, and both certificates exist';
  return 'Every request is signed with both secrets';
}

/** Invalidates all webhook queries. */
export function useWebhookChanged(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['webhook'] }),
      queries.invalidateQueries({ queryKey: ['webhooks'] }),
      queries.invalidateQueries({ queryKey: ['webhook-deliveries'] }),
    ]);
  };
}
