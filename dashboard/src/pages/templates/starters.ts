/** Initial content for new templates, layouts and partials. */

interface StarterContent {
  subject?: string;
  html: string;
  variables?: { name: string; example: unknown; required?: boolean; secret?: boolean }[];
}

export interface Starter {
  /** Also the suggested name. */
  label: string;
  content: StarterContent;
}

/** The emails that most services need first. Styles are inline, because some clients ignore others. */
export const TEMPLATE_STARTERS: readonly Starter[] = [
  {
    label: 'Welcome',
    content: {
      subject: 'Welcome, ${first_name}',
      html: email(
        'Confirm your email address to get started.',
        `  <h1 style="font-size:22px">Hello {{ first_name }}</h1>
  <p>Thanks for signing up. Please confirm your email address.</p>
${button('confirm_url', 'Confirm email')}`,
      ),
      variables: [
        { name: 'first_name', example: 'Jane' },
        { name: 'confirm_url', example: 'https://example.com/confirm' },
      ],
    },
  },
  {
    label: 'Password reset',
    content: {
      subject: 'Reset your password',
      html: email(
        'The link works for one hour.',
        `  <h1 style="font-size:22px">Reset your password</h1>
  <p>Hello {{ first_name | default: "there" }}, someone (probably you) requested a password reset.</p>
${button('reset_url', 'Set a new password')}
  <p style="color:#595959">The link works for one hour. If you did not request this, ignore this email:
  your password stays unchanged.</p>`,
      ),
      variables: [
        { name: 'first_name', example: 'Jane', required: false },
        { name: 'reset_url', example: 'https://example.com/reset', secret: true },
      ],
    },
  },
  {
    label: 'One-time code',
    content: {
      subject: 'Your sign-in code',
      html: email(
        'Enter it within ten minutes.',
        `  <p>Enter this code to sign in:</p>
  <p style="font-size:32px; font-weight:bold; letter-spacing:6px">{{ code }}</p>
  <p style="color:#595959">It expires in ten minutes. If you are not signing in, ignore this email and
  share the code with no one.</p>`,
      ),
      variables: [{ name: 'code', example: '482913', secret: true }],
    },
  },
  {
    label: 'Receipt',
    content: {
      subject: 'Your receipt for order ${order.number}',
      html: email(
        'Thank you for your order.',
        `  <h1 style="font-size:22px">Thank you, {{ first_name }}</h1>
  <p>This is the receipt for order {{ order.number }}.</p>
  <table role="presentation" width="100%" cellpadding="8" style="border-collapse:collapse">
    {% for line in order.lines %}
    <tr style="border-bottom:1px solid #dddddd">
      <td>{{ line.name }}</td>
      <td align="right">{{ line.price | money: "USD" }}</td>
    </tr>
    {% endfor %}
    <tr style="font-weight:bold">
      <td>Total</td>
      <td align="right">{{ order.total | money: "USD" }}</td>
    </tr>
  </table>`,
      ),
      variables: [
        { name: 'first_name', example: 'Jane' },
        { name: 'order.number', example: '1042' },
        { name: 'order.lines', example: [{ name: 'Espresso cups', price: 24 }] },
        { name: 'order.total', example: 24 },
      ],
    },
  },
  {
    label: 'Invitation',
    content: {
      subject: '${inviter} invited you to ${team}',
      html: email(
        'Accept the invitation to join the team.',
        `  <h1 style="font-size:22px">Join {{ team }}</h1>
  <p>{{ inviter }} invited you to work together in {{ team }}.</p>
${button('invitation_url', 'Accept invitation')}
  <p style="color:#595959">The link expires in seven days.</p>`,
      ),
      variables: [
        { name: 'inviter', example: 'Peter Miller' },
        { name: 'team', example: 'Example Inc.' },
        { name: 'invitation_url', example: 'https://example.com/join', secret: true },
      ],
    },
  },
  { label: 'Blank', content: { subject: 'Hello', html: '<p>Hello</p>\n' } },
];

export const STARTERS: Record<'layout' | 'partial', StarterContent> = {
  layout: {
    html: `<!doctype html>
<html>
  <head>
    <style>
      body { font-family: Arial, sans-serif; color: #222; }
      main { max-width: 560px; margin: 0 auto; padding: 24px; }
      footer { color: #777; font-size: 12px; }
    </style>
  </head>
  <body>
    <main>
      {{ content }}
      <footer>Example Inc., 1 Main Street</footer>
    </main>
  </body>
</html>
`,
  },
  partial: { html: '<p>Example Inc., 1 Main Street</p>\n' },
};

/** The first text is what inboxes show next to the subject. */
function email(preheader: string, body: string): string {
  return `<div style="display:none">${preheader}</div>
<div style="max-width:560px; margin:0 auto; padding:24px; font-family:Arial,sans-serif; font-size:15px; line-height:1.5; color:#222222">
${body}
</div>
`;
}

function button(variable: string, label: string): string {
  return `  <p style="margin:24px 0">
    <a href="{{ ${variable} }}" style="display:inline-block; padding:12px 20px; border-radius:6px; background:#3b3fc4; color:#ffffff; text-decoration:none">${label}</a>
  </p>`;
}
