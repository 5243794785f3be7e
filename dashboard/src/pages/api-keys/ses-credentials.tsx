import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { apiFor, type Schema, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Loadable } from '../../components/paginated-list.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useSelection } from '../../session/selection.ts';
import { compatUrl } from './client-snippets.ts';
import type { ApiKey } from './key-dialogs.tsx';

/** As many as a key can have. */
const CREDENTIALS_MAX = 2;

/** Lists, creates and revokes the credentials of a key for AWS SDKs. */
export function SesCredentials({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const selection = useSelection();
  const queries = useQueryClient();
  const api = apiFor({ ...selection, mode: apiKey.mode });
  const path = { id: apiKey.id };
  const queryKey = ['ses-credentials', apiKey.id];
  const list = useQuery({
    queryKey,
    queryFn: () => unwrap(api.GET('/api/v1/api-keys/{id}/ses-credentials', { params: { path } })),
  });
  const creating = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/api-keys/{id}/ses-credentials', { params: { path } })),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const revoke = (accessKeyId: string) =>
    requestConfirmation({
      title: 'Revoke these SES credentials?',
      body: (
        <>
          Requests signed with <code className="font-mono text-xs">{accessKeyId}</code> will be
          rejected immediately. This can’t be undone. The API key keeps working.
        </>
      ),
      confirmLabel: 'Revoke credentials',
      run: async () => {
        await unwrap(
          api.DELETE('/api/v1/api-keys/{id}/ses-credentials/{access_key_id}', {
            params: { path: { ...path, access_key_id: accessKeyId } },
          }),
        );
        await queries.invalidateQueries({ queryKey });
        showToast('SES credentials revoked.');
      },
    });
  if (creating.data) return <NewCredentials credentials={creating.data} onClose={onClose} />;
  const credentials = list.data?.data ?? [];
  return (
    <Dialog
      title={`SES credentials of ${apiKey.name}`}
      description="For programs that use Amazon SES through an AWS SDK. They have the permissions and limits of this key and are revoked with it."
      onClose={onClose}
    >
      <Loadable query={list} placeholderRows={2} errorClassName="">
        {credentials.length === 0 ? (
          <p className="text-sm text-soft">This key has no SES credentials.</p>
        ) : (
          <ul className="grid gap-2">
            {credentials.map(({ access_key_id, created_at }) => (
              <li
                key={access_key_id}
                className="flex flex-wrap items-center gap-2 rounded-lg border border-line p-2 pl-3"
              >
                <code className="min-w-0 flex-1 font-mono text-sm break-all">{access_key_id}</code>
                <Time at={created_at} className="text-sm text-soft" />
                <Button
                  onClick={() => revoke(access_key_id)}
                  aria-label={`Revoke ${access_key_id}`}
                >
                  Revoke
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Loadable>
      {creating.isError && <ErrorAlert error={creating.error} className="mt-4" />}
      <DialogButtons>
        <Button onClick={onClose}>Close</Button>
        <Button
          kind="primary"
          busy={creating.isPending}
          disabled={!list.isSuccess || credentials.length >= CREDENTIALS_MAX}
          onClick={() => creating.mutate()}
        >
          Create credentials
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

/** Shows new credentials, once, as a program uses them. */
function NewCredentials({
  credentials,
  onClose,
}: {
  credentials: Schema<'SesCredentialWithSecret'>;
  onClose: () => void;
}) {
  const { access_key_id: accessKeyId, secret_access_key: secret } = credentials;
  const code = [
    `AWS_ENDPOINT_URL_SESV2=${compatUrl('ses')}`,
    `AWS_ACCESS_KEY_ID=${accessKeyId}`,
    `AWS_SECRET_ACCESS_KEY=${secret}`,
    'AWS_REGION=us-east-1',
  ].join('\n');
  return (
    <Dialog
      title="New SES credentials"
      description="Copy the secret access key now. You won’t be able to see it again."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid gap-5">
        <OneTimeSecret secret={secret} copy="Copy secret" />
        <div>
          <h3 className="mb-2 text-sm font-semibold">Settings for an AWS SDK</h3>
          <CodeBlock code={code} label="AWS settings" />
          <p className="mt-2 text-sm text-soft">Any region works.</p>
        </div>
      </div>
      <DialogButtons>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
