import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { hasOnlyFieldErrors } from '../../api/problem.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { DEFAULT_GRACE_SECONDS, GracePeriodField } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import type { Webhook } from './endpoint-status.tsx';
import { headerChange, rowsOf } from './header-fields.tsx';
import { shownByFields, type WebhookFields, WebhookForm } from './webhook-form.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

type Events = NonNullable<Schema<'CreateWebhook'>['events']>;

function bodyOf({ url, description, events, enabled, headers }: WebhookFields) {
  const change = headerChange(headers);
  return {
    url: url.trim(),
    description: description.trim(),
    events: events as Events,
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
    events: ['*'],
    enabled: true,
    headers: [],
  });
  const making = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/webhooks', { body: bodyOf(fields) })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  });
  if (making.data) {
    const { id, secret } = making.data;
    return (
      <WebhookSecret
        title="The endpoint is made"
        secret={secret}
        onClose={() => void navigate({ to: '/webhooks/$id', params: { id } })}
      />
    );
  }
  return (
    <Dialog title="Add a webhook endpoint" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        <WebhookForm value={fields} onChange={setFields} error={making.error} />
        {making.isError && !hasOnlyFieldErrors(making.error, shownByFields(fields)) && (
          <ErrorAlert error={making.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={making.isPending}
            disabled={fields.events.length === 0}
          >
            Add endpoint
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useApi();
  const changed = useWebhookChanged();
  const [fields, setFields] = useState<WebhookFields>({
    url: webhook.url,
    description: webhook.description,
    events: webhook.events,
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
      showToast('The endpoint is changed.');
      onClose();
    },
  });
  return (
    <Dialog title="Change the endpoint" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <WebhookForm value={fields} onChange={setFields} error={changing.error} />
        {changing.isError && !hasOnlyFieldErrors(changing.error, shownByFields(fields)) && (
          <ErrorAlert error={changing.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={changing.isPending}
            disabled={fields.events.length === 0}
          >
            Save
          </Button>
        </DialogButtons>
      </form>
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
      <WebhookSecret title="The new secret" secret={rotating.data.secret} onClose={onClose}>
        {grace > 0 && (
          <Alert tone="info" title="Both secrets sign for now">
            <p>
              Until the old one ends, <Time at={rotating.data.previous_ends_at} />, every request
              carries a signature of each. Change over whenever you like.
            </p>
          </Alert>
        )}
      </WebhookSecret>
    );
  }
  return (
    <Dialog
      title="Rotate the secret"
      description="The endpoint gets a new secret. Both sign while you change over."
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rotating.mutate();
        }}
      >
        <GracePeriodField
          label="How long the old secret goes on signing"
          seconds={grace}
          onChange={setGrace}
        />
        {grace === 0 && (
          <p className="mt-2 text-xs text-warn">
            Requests fail your check until the receiver knows the new secret.
          </p>
        )}
        {rotating.isError && <ErrorAlert error={rotating.error} className="mt-4" />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={rotating.isPending}>
            Make a new secret
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** Lets go of what is known about endpoints. */
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
