import { KeyRound } from 'lucide-react';
import { Button } from '../../parts/button.tsx';
import { Snippets } from '../../parts/code-block.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Note } from '../../parts/problem-note.tsx';
import { sendSnippets } from './send-snippets.ts';

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
        <div className="flex flex-wrap items-center gap-2 rounded-lg border border-accent-ink/40 bg-accent-wash/60 p-2 pl-3">
          <KeyRound className="size-4 shrink-0 text-accent-ink" aria-hidden />
          <code className="min-w-0 flex-1 basis-60 font-mono text-sm break-all" data-testid="token">
            {token}
          </code>
          <CopyButton text={token}>Copy key</CopyButton>
        </div>
        {children}
        {maySend ? (
          <div>
            <h3 className="mb-2 text-sm font-semibold">Send a message with it</h3>
            <Snippets snippets={sendSnippets(token)} />
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
