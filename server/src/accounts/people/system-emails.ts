/**
 * The emails that the service sends to its own users. Values are inserted by placeholders, so that
 * a name that looks like markup stays a name.
 */
export interface SystemEmail {
  to: { email: string; name?: string };
  subject: string;
  html: string;
  /** The link is a secret and is shown to no one but the recipient. */
  variables: Record<string, string> & { link: string };
  /** The email is useless after this time. */
  ttlSeconds: number;
}

/**
 * Sends an email from the first of these workspaces with a domain that can send. Returns the id of the
 * message; undefined when there is no such workspace or the address does not accept mail.
 */
export type SendSystemEmail = (
  email: SystemEmail,
  workspaceIds: readonly string[],
) => Promise<string | undefined>;

const HOUR_SECONDS = 3600;

export function passwordResetEmail(to: { email: string; name: string }, link: string): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'Reset your Postrider password',
    html: page(
      `<p>Hello {{ name }},</p>
<p>Someone (probably you) requested a password reset for your Postrider account.</p>`,
      'Reset password',
      `<p>The link works once and expires in one hour. If you did not request this, ignore this email: your
password stays unchanged.</p>`,
    ),
    variables: { name: to.name, link },
    ttlSeconds: HOUR_SECONDS,
  };
}

/** To the new address. */
export function confirmEmailChangeEmail(
  email: string,
  person: { email: string; name: string },
  link: string,
): SystemEmail {
  return {
    to: { email },
    subject: 'Confirm your new Postrider email address',
    html: page(
      `<p>Hello,</p>
<p>{{ name }} asked to sign in to Postrider with this address instead of {{ previous }}.</p>`,
      'Confirm email address',
      `<p>The link works once, expires in one hour, and asks you to sign in. If you did not request this,
ignore this email: nothing changes.</p>`,
    ),
    variables: { name: person.name, previous: person.email, link },
    ttlSeconds: HOUR_SECONDS,
  };
}

/** To the address of an account, to verify it. */
export function verifyEmailEmail(to: { email: string; name: string }, link: string): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'Verify your Postrider email address',
    html: page(
      `<p>Hello {{ name }},</p>
<p>Someone (probably you) asked to verify that you receive the mail of your Postrider account at this
address.</p>`,
      'Verify email address',
      `<p>The link works once, expires in one hour, and asks you to sign in. If you did not create the account,
reset its password instead: this removes every other way to sign in.</p>`,
    ),
    variables: { name: to.name, link },
    ttlSeconds: HOUR_SECONDS,
  };
}

/** After the first proof of an address. It contains no secret. */
export function credentialsRemovedEmail(
  to: { email: string; name: string },
  removed: readonly string[],
  link: string,
): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'Your Postrider account was reset',
    html: page(
      `<p>Hello {{ name }},</p>
<p>You have proved for the first time that this address is yours. Someone else could have created your
Postrider account before, so everyone was signed out, and this was removed: {{ removed }}.</p>
<p>If you had set it up yourself, set it up again in your settings.</p>`,
      'Open settings',
    ),
    variables: { name: to.name, removed: removed.join(', '), link },
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}

/** To a new address that already has an account. It contains no secret. */
export function addressTakenEmail(to: { email: string; name: string }, link: string): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'Your address already has a Postrider account',
    html: page(
      `<p>Hello {{ name }},</p>
<p>Someone (probably you) asked to use this address for another Postrider account. An address can have
only one account, so nothing was changed.</p>`,
      'Sign in with this address',
      '<p>If you did not request this, ignore this email.</p>',
    ),
    variables: { name: to.name, link },
    ttlSeconds: HOUR_SECONDS,
  };
}

/** To the previous address, after the change. */
export function emailChangedEmail(
  previous: string,
  { name }: { name: string },
  email: string,
  link: string,
): SystemEmail {
  return {
    to: toRecipient({ email: previous, name }),
    subject: 'Your Postrider email address was changed',
    html: page(
      `<p>Hello {{ name }},</p>
<p>Your Postrider account now signs in with {{ email }} instead of this address.</p>
<p>If you did not make this change, undo it. Your account gets this address back, everyone is signed
out, and you set a new password.</p>`,
      'Undo the change',
      '<p>The link works once and expires in seven days.</p>',
    ),
    variables: { name, email, link },
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}

/** The link leads to the sign-in and contains no secret. */
export function accountDeletionEmail(
  to: { email: string; name: string },
  deleteAtMs: number,
  link: string,
): SystemEmail {
  const [day, time] = new Date(deleteAtMs).toISOString().slice(0, 16).split('T') as [
    string,
    string,
  ];
  return {
    to: toRecipient(to),
    subject: 'Your Postrider account will be deleted',
    html: page(
      `<p>Hello {{ name }},</p>
<p>You asked to delete your Postrider account. It will be deleted after {{ day }}, {{ time }} UTC. You
have been signed out everywhere.</p>
<p>To keep your account, sign in before then and restore it in the settings. If you did not make this
request, also change your password.</p>`,
      'Sign in',
    ),
    variables: { name: to.name, day, time, link },
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}

/** After a passkey was added. It contains no secret. */
export function passkeyAddedEmail(
  to: { email: string; name: string },
  passkey: string,
  link: string,
): SystemEmail {
  return {
    to: toRecipient(to),
    subject: 'A passkey was added to your Postrider account',
    html: page(
      `<p>Hello {{ name }},</p>
<p>The passkey “{{ passkey }}” was added to your Postrider account. It can be used to sign in
without your password.</p>
<p>If you did not add it, remove it in your settings and change your password.</p>`,
      'Open settings',
    ),
    variables: { name: to.name, passkey, link },
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}

/** A name may contain characters that a header cannot, and the email must be sent anyway. */
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
    subject: '{{ inviter }} invited you to {{ workspace }} on Postrider',
    html: page(
      `<p>Hello,</p>
<p>{{ inviter }} invited you to join <b>{{ workspace }}</b> on Postrider. Your role: {{ role }}.</p>`,
      'Accept invitation',
      `<p>The link works once and expires in seven days. If you were not expecting this invitation, ignore
this email.</p>`,
    ),
    variables,
    ttlSeconds: 24 * HOUR_SECONDS,
  };
}

/**
 * The frame of every system email: the text, a button and what to know about it. The colors of the
 * text are those of the email client, light or dark; only the button has its own.
 */
function page(text: string, button: string, note = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<style>:root { color-scheme: light dark }</style>
</head>
<body>
<div style="max-width:520px; margin:0 auto; padding:24px 16px; font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif; overflow-wrap:anywhere">
${text}
<p style="margin:24px 0"><a href="{{ link }}" style="display:inline-block; padding:10px 20px; border-radius:6px; background:#4345d0; color:#ffffff; font-weight:600; text-decoration:none">${button}</a></p>
${note}
</div>
</body>
</html>`;
}
