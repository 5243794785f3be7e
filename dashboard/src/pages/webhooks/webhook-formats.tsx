import type { Schema } from '../../api/client.ts';
import { Alert } from '../../components/alert.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Detail, DetailList } from '../../components/page.tsx';
import type { Webhook } from './endpoint-status.tsx';

export type WebhookFormat = Webhook['format'];

/** The formats of webhook requests, and how receivers verify them. */
export const WEBHOOK_FORMATS: Record<WebhookFormat, { label: string; receiver: string }> = {
  postrider: {
    label: 'Postrider',
    receiver: 'Verify the signature with the secret.',
  },
  resend: {
    label: 'Resend',
    receiver: 'Use the secret as the signing secret of Svix or of Resend’s library.',
  },
  postmark: {
    label: 'Postmark',
    receiver:
      'Postmark does not sign requests. Put a user name and a password into the URL, or add a custom header, and check it in the receiver.',
  },
  sendgrid: {
    label: 'SendGrid',
    receiver: 'Use the public key as the verification key of the signed event webhook.',
  },
  mailgun: {
    label: 'Mailgun',
    receiver: 'Use the secret as the HTTP webhook signing key.',
  },
  'ses-sns': {
    label: 'Amazon SES (SNS)',
    receiver:
      'Allow the host of the certificate URL in the verifier of SNS messages, which accepts only amazonaws.com by default.',
  },
};

/** What to set in a receiver that was written for another provider. */
export function ReceiverSettings({ webhook }: { webhook: Schema<'Webhook'> }) {
  const { label, receiver } = WEBHOOK_FORMATS[webhook.format];
  return (
    <Alert tone="info" title={`In the receiver for ${label}`}>
      <p>{receiver}</p>
      <DetailList>
        <VerificationDetails webhook={webhook} />
      </DetailList>
    </Alert>
  );
}

/** Public values that verify requests. */
export function VerificationDetails({ webhook }: { webhook: Webhook }) {
  const values = [
    ['Public key', webhook.public_key],
    ['Topic ARN', webhook.topic_arn],
    ['Certificate URL', webhook.signing_cert_url],
  ] as const;
  return values.map(
    ([name, value]) =>
      value !== null && (
        <Detail key={name} name={name}>
          <CopyCode text={value} />
        </Detail>
      ),
  );
}
