import { useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import type { Mode } from '../../session/selection.ts';
import { SendSnippets } from './send-snippets.tsx';
import { smtpSnippet } from './smtp-snippet.ts';

/** Shows a new key, once, with examples that use it. */
export function NewKeyDialog({
  name,
  mode,
  token,
  canSend,
  children,
  onClose,
}: {
  name: string;
  mode: Mode;
  token: string;
  canSend: boolean;
  children?: React.ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={name}
      description="Copy this key now. You won’t be able to see it again."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid gap-5">
        <OneTimeSecret secret={token} copy="Copy key" />
        {children}
        {canSend ? (
          <div>
            <h3 className="mb-2 text-sm font-semibold">Send an email with this key</h3>
            <KeySnippets mode={mode} token={token} />
          </div>
        ) : (
          <Alert tone="info" title="This key can’t send">
            <p>Send it as “Authorization: Bearer …” with the requests its permissions allow.</p>
          </Alert>
        )}
      </div>
      <DialogButtons>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function KeySnippets({ mode, token }: { mode: Mode; token: string }) {
  const { api, key } = useApi();
  const smtp = useQuery({
    queryKey: key('smtp'),
    queryFn: () => unwrap(api.GET('/api/v1/smtp')),
    staleTime: 60_000,
  });
  return (
    <SendSnippets
      mode={mode}
      token={token}
      more={smtp.data ? [smtpSnippet(token, smtp.data)] : []}
    />
  );
}
