import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api, unwrap, type Schema } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { usePreventLeaving } from '../../components/secret.tsx';
import { ME_QUERY_KEY, useMe } from '../../session/session.ts';

type Open = 'add' | 'renew' | 'remove';

/** A code from a phone beside the password: turned on, its recovery codes renewed, turned off. */
export function SecondFactorSettings() {
  const me = useMe();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <Section
      title="Second factor"
      description="A code from an authenticator app beside your password."
    >
      {me.totp_enabled ? (
        <div className="flex flex-wrap items-center gap-3 text-sm">
          <span className="inline-flex items-center gap-1.5 font-medium text-good">
            <ShieldCheck className="size-4" aria-hidden />
            On
          </span>
          <span className="text-soft">{me.recovery_codes_left} recovery codes left</span>
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
      title="Turn on a second factor"
      verb="Go on"
      busy={starting.isPending}
      error={starting.error}
      onSubmit={starting.mutate}
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
    <Dialog title="Scan this with your authenticator" onClose={onClose} skipDiscardCheck>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          confirming.mutate();
        }}
      >
        <div className="flex flex-wrap items-center gap-5">
          <QrCode text={setup.uri} label="QR code of the secret" />
          <div className="min-w-0 flex-1 basis-48 text-sm text-soft">
            <p className="mb-1">Or type the secret:</p>
            <CopyCode text={setup.secret} className="break-all" />
          </div>
        </div>
        <Field label="The code it shows" error={fieldError(confirming.error, '/code')}>
          <TextInput
            mono
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            required
          />
        </Field>
        {confirming.isError && !hasOnlyFieldErrors(confirming.error, ['/code']) && (
          <ErrorAlert error={confirming.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={confirming.isPending}>
            Turn on
          </Button>
        </DialogButtons>
      </form>
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
      verb="Make new ones"
      busy={renewing.isPending}
      error={renewing.error}
      onSubmit={renewing.mutate}
      onClose={onClose}
    >
      <p className="text-sm text-soft">The old ones stop working.</p>
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
      showToast('The second factor is off.');
      onClose();
    },
  });
  return (
    <PasswordDialog
      title="Turn the second factor off?"
      verb="Turn off"
      danger
      busy={removing.isPending}
      error={removing.error}
      onSubmit={removing.mutate}
      onClose={onClose}
    >
      <p className="text-sm text-soft">Your password alone will open your account again.</p>
    </PasswordDialog>
  );
}

function PasswordDialog({
  title,
  verb,
  danger,
  busy,
  error,
  children,
  onSubmit,
  onClose,
}: {
  title: string;
  verb: string;
  danger?: boolean;
  busy: boolean;
  error: unknown;
  children?: ReactNode;
  onSubmit: (password: string) => void;
  onClose: () => void;
}) {
  const [password, setPassword] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(password);
  };
  return (
    <Dialog title={title} onClose={onClose} skipDiscardCheck>
      <form className="grid gap-4" onSubmit={submit}>
        {children}
        <Field label="Your password" error={fieldError(error, '/password')}>
          <TextInput
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            required
          />
        </Field>
        {error !== null && !hasOnlyFieldErrors(error, ['/password']) && <ErrorAlert error={error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={busy}>
            {verb}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  usePreventLeaving();
  return (
    <Dialog title="Your recovery codes" onClose={onClose} persistent>
      <div className="grid gap-4">
        <Alert tone="warn" title="They are shown this once">
          <p>
            Each works once in place of a code, when your phone is lost. Keep them where you keep
            your passwords.
          </p>
        </Alert>
        <CodeBlock code={codes.join('\n')} label="recovery codes" />
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            I have kept them
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
