/**
 * The mails that the service writes to its own people. Values stand in placeholders, so that a name
 * which looks like markup stays a name.
 */
export interface SystemEmail {
  to: { email: string; name?: string };
  subject: string;
  html: string;
  /** The link is a secret: nobody but the recipient is ever shown it. */
  variables: Record<string, string> & { link: string };
  /** The letter is worth nothing after that. */
  ttlSeconds: number;
}

/**
 * Sends a letter from the first of these workspaces that has a domain which may send. False: none
 * has, or the address takes no mail.
 */
export type SendSystemEmail = (
  letter: SystemEmail,
  workspaceIds: readonly string[],
) => Promise<boolean>;

const HOUR_SECONDS = 3600;

export function passwordResetEmail(to: { email: string; name: string }, link: string): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'Set a new password for Postrider',
    html: `<p>Hello {{ name }},</p>
<p>somebody, most likely you, asked to set a new password for your Postrider account.</p>
<p><a href="{{ link }}">Set a new password</a></p>
<p>The link works for one hour, and once. If it was not you, there is nothing to do: your password
stays as it is.</p>`,
    variables: { name: to.name, link },
    ttlSeconds: HOUR_SECONDS,
  };
}

/** A name may hold what no header takes, and the letter must arrive all the same. */
function toRecipient({ email, name }: { email: string; name: string }): SystemEmail['to'] {
  const plain = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return plain === '' ? { email } : { email, name: plain };
}

export function invitationEmail(
  email: string,
  variables: { inviter: string; workspace: string; role: string; link: string },
): SystemEmail {
  return {
    to: { email },
    subject: '{{ inviter }} invites you to {{ workspace }} on Postrider',
    html: `<p>Hello,</p>
<p>{{ inviter }} invites you to work in <b>{{ workspace }}</b> on Postrider, as {{ role }}.</p>
<p><a href="{{ link }}">Accept the invitation</a></p>
<p>The link works for seven days, and once. If you do not know what this is about, there is nothing
to do.</p>`,
    variables,
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}
