import { useQuery } from '@tanstack/react-query';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { Snippets } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Alert } from '../../components/alert.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { sendSnippets } from './send-snippets.ts';
import { smtpSnippet } from './smtp-snippet.ts';

/** The secret, this once: copied or lost. */
export function NewKeyDialog({
  name,
  token,
  maySend,
  children,
  onClose,
}: {
  name: string;
  token: string;
  maySend: boolean;
  children?: React.ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={name}
      description="Copy the key now: it is shown this once."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid gap-5">
        <OneTimeSecret secret={token} copy="Copy key" />
        {children}
        {maySend ? (
          <div>
            <h3 className="mb-2 text-sm font-semibold">Send a message with it</h3>
            <SendingSnippets token={token} />
          </div>
        ) : (
          <Alert tone="info" title="This key does not send">
            <p>Use it as “Authorization: Bearer …” on the operations of its scopes.</p>
          </Alert>
        )}
      </div>
      <DialogButtons>
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function SendingSnippets({ token }: { token: string }) {
  const { api, key } = useApi();
  const smtp = useQuery({
    queryKey: key('smtp'),
    queryFn: () => unwrap(api.GET('/api/v1/smtp')),
    staleTime: 60_000,
  });
  const snippets = sendSnippets(token);
  return (
    <Snippets snippets={smtp.data ? [...snippets, smtpSnippet(token, smtp.data)] : snippets} />
  );
}
