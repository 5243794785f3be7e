import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { Snippets } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { verifySnippets } from './verify-snippets.ts';

/** The signing secret, this once, and what to do with it. */
export function WebhookSecret({
  title,
  secret,
  children,
  onClose,
}: {
  title: string;
  secret: string;
  children?: ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      description="Copy the secret now: it is shown this once."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <OneTimeSecret secret={secret} copy="Copy secret" />
        {children}
        <div>
          <h3 className="text-sm font-semibold">Verify what arrives</h3>
          <p className="mb-2 text-sm text-soft">
            Anybody can post to your URL; only we can sign with this secret. Check the signature
            over the raw body, and drop repeats by{' '}
            <code className="font-mono text-xs">webhook-id</code>.
          </p>
          <Snippets snippets={verifySnippets()} />
        </div>
      </div>
      <DialogButtons>
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
