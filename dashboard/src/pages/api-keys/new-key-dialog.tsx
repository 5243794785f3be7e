import type { Schema } from '../../api/client.ts';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { SendSnippets } from './send-snippets.tsx';

type NewKey = Pick<
  Schema<'ApiKeyWithToken'>,
  'id' | 'mode' | 'token' | 'scopes' | 'allowed_domains'
>;

/** Shows a new key, once, with examples that use it. */
export function NewKeyDialog({
  title,
  apiKey,
  children,
  onClose,
}: {
  title: string;
  apiKey: NewKey;
  children?: React.ReactNode;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      description="Copy this key now. You won’t be able to see it again."
      onClose={onClose}
      wide
      persistent
    >
      <div className="grid gap-5">
        <OneTimeSecret secret={apiKey.token} copy="Copy key" />
        {children}
        {(apiKey.scopes as string[]).includes('send:transactional') ? (
          <div>
            <h3 className="mb-2 text-sm font-semibold">Send an email with this key</h3>
            <SendSnippets mode={apiKey.mode} apiKey={apiKey} everyWay />
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
