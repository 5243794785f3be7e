import { Button } from '../../parts/button.tsx';
import { Snippets } from '../../parts/code-block.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Note } from '../../parts/problem-note.tsx';
import { ShownSecret } from '../../parts/secret.tsx';
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
        <ShownSecret secret={token} copy="Copy key" />
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
