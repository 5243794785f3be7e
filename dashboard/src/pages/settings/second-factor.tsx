import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { api, type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { usePreventLeaving } from '../../components/secret.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { ME_QUERY_KEY, useMe } from '../../session/session.ts';

type Open = 'add' | 'renew' | 'remove';

/** Two-factor authentication: turn on or off, and renew recovery codes. */
export function SecondFactorSettings() {
  const me = useMe();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <Section
      title="Two-factor authentication"
      description="Require a code from an authenticator app."
    >
      {me.totp_enabled ? (
        <div className="flex flex-wrap items-center gap-3 text-sm">
          <span className="inline-flex items-center gap-1.5 font-medium text-good">
            <ShieldCheck className="size-4" aria-hidden />
            On
          </span>
          <span className="text-soft">
            {formatCount(me.recovery_codes_left, 'recovery code')} left
          </span>
          <span className="flex-1" />
          <Button size="small" onClick={() => setOpen('renew')}>
            New recovery codes
          </Button>
          <Button size="small" kind="danger-quiet" onClick={() => setOpen('remove')}>
            Turn off
          </Button>
        </div>
      ) : (
        <Button kind="primary" onClick={() => setOpen('add')}>
          Turn on
        </Button>
      )}
      {open === 'add' && <AddFactor onClose={close} />}
      {open === 'renew' && <RenewCodes onClose={close} />}
      {open === 'remove' && <RemoveFactor onClose={close} />}
    </Section>
  );
}

function AddFactor({ onClose }: { onClose: () => void }) {
  const starting = useMutation({
    mutationFn: (password: string) => unwrap(api.POST('/api/v1/me/totp', { body: { password } })),
  });
  if (starting.data) return <ConfirmFactor setup={starting.data} onClose={onClose} />;
  return (
    <PasswordDialog
      title="Turn on two-factor authentication"
      submitLabel="Continue"
      saving={starting}
      onClose={onClose}
    />
  );
}

function ConfirmFactor({ setup, onClose }: { setup: Schema<'TotpSetup'>; onClose: () => void }) {
  const queries = useQueryClient();
  const [code, setCode] = useState('');
  const confirming = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/me/totp/confirm', { body: { code: code.trim() } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ME_QUERY_KEY }),
  });
  if (confirming.data)
    return <RecoveryCodes codes={confirming.data.recovery_codes} onClose={onClose} />;
  return (
    <Dialog title="Scan with your authenticator app" onClose={onClose} skipDiscardCheck>
      <DialogForm saving={confirming} fields={['/code']} submitLabel="Turn on" onClose={onClose}>
        <div className="flex flex-wrap items-center gap-5">
          <QrCode text={setup.uri} label="QR code" />
          <div className="min-w-0 flex-1 basis-48 text-sm text-soft">
            <p className="mb-1">Or enter this secret:</p>
            <CopyCode text={setup.secret} className="break-all" />
          </div>
        </div>
        <Field label="Code from the app" error={fieldError(confirming.error, '/code')}>
          <TextInput
            mono
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

function RenewCodes({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const renewing = useMutation({
    mutationFn: (password: string) =>
      unwrap(api.POST('/api/v1/me/totp/recovery-codes', { body: { password } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ME_QUERY_KEY }),
  });
  if (renewing.data)
    return <RecoveryCodes codes={renewing.data.recovery_codes} onClose={onClose} />;
  return (
    <PasswordDialog
      title="New recovery codes"
      submitLabel="Create new codes"
      saving={renewing}
      onClose={onClose}
    >
      <p className="text-sm text-soft">Your current recovery codes will stop working.</p>
    </PasswordDialog>
  );
}

function RemoveFactor({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const removing = useMutation({
    mutationFn: (password: string) =>
      unwrap(api.POST('/api/v1/me/totp/remove', { body: { password } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      showToast('Two-factor authentication is off.');
      onClose();
    },
  });
  return (
    <PasswordDialog
      title="Turn off two-factor authentication?"
      submitLabel="Turn off"
      danger
      saving={removing}
      onClose={onClose}
    >
      <p className="text-sm text-soft">You’ll sign in with only your password.</p>
    </PasswordDialog>
  );
}

function PasswordDialog({
  title,
  submitLabel,
  danger,
  saving,
  children,
  onClose,
}: {
  title: string;
  submitLabel: string;
  danger?: boolean;
  saving: {
    mutate: (password: string) => void;
    isPending: boolean;
    isError: boolean;
    error: unknown;
  };
  children?: ReactNode;
  onClose: () => void;
}) {
  const [password, setPassword] = useState('');
  return (
    <Dialog title={title} onClose={onClose} skipDiscardCheck>
      <DialogForm
        saving={{ ...saving, mutate: () => saving.mutate(password) }}
        fields={['/password']}
        submitLabel={submitLabel}
        danger={danger}
        onClose={onClose}
      >
        {children}
        <Field label="Your password" error={fieldError(saving.error, '/password')}>
          <TextInput
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  usePreventLeaving();
  return (
    <Dialog title="Your recovery codes" onClose={onClose} persistent>
      <div className="grid gap-4">
        <Alert tone="warn" title="These codes are shown only once">
          <p>
            Use a recovery code if you lose your device. Each works once. Store them in your
            password manager.
          </p>
        </Alert>
        <CodeBlock code={codes.join('\n')} label="recovery codes" />
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            I’ve saved these codes
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
