import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { Snippets } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import type { Webhook } from './endpoint-status.tsx';
import { verifySnippets } from './verify-snippets.ts';
import { ReceiverSettings } from './webhook-formats.tsx';

/** Shows a signing secret, once, with code to verify signatures. */
export function WebhookSecret({
  title,
  webhook,
  children,
  onClose,
}: {
  title: string;
  webhook: Webhook & { secret: string };
  children?: ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      description="Copy this secret now. You won’t be able to see it again."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid gap-5">
        <OneTimeSecret secret={webhook.secret} copy="Copy secret" />
        {children}
        {webhook.format === 'postrider' ? (
          <VerifySignatures />
        ) : (
          <ReceiverSettings webhook={webhook} />
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

function VerifySignatures() {
  return (
    <div>
      <h3 className="text-sm font-semibold">Verify signatures</h3>
      <p className="mb-2 text-sm text-soft">
        Check the signature of the raw request body to make sure a request is from us. Deduplicate
        by <code className="font-mono text-xs">webhook-id</code>.
      </p>
      <Snippets snippets={verifySnippets()} />
    </div>
  );
}
