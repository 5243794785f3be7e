import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { Button } from '../../parts/button.tsx';
import { Snippets } from '../../parts/code-block.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Note } from '../../parts/problem-note.tsx';
import { ShownSecret } from '../../parts/secret.tsx';
import { sendSnippets } from './send-snippets.ts';
import { smtpSnippet } from './smtp-snippet.ts';

/** The secret, this once: copied or lost. */
export function NewSecret({
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
      stays
    >
      <div className="grid gap-5">
        <ShownSecret secret={token} copy="Copy key" />
        {children}
        {maySend ? (
          <div>
            <h3 className="mb-2 text-sm font-semibold">Send a message with it</h3>
            <SendingSnippets token={token} />
          </div>
        ) : (
          <Note tone="info" title="This key does not send">
            <p>Use it as “Authorization: Bearer …” on the operations of its scopes.</p>
          </Note>
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
  const { api, key } = useHere();
  const smtp = useQuery({
    queryKey: key('smtp'),
    queryFn: () => ask(api.GET('/api/v1/smtp')),
    staleTime: 60_000,
  });
  const snippets = sendSnippets(token);
  return (
    <Snippets snippets={smtp.data ? [...snippets, smtpSnippet(token, smtp.data)] : snippets} />
  );
}
