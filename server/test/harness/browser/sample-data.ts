/** Sample data for every page of the dashboard, created through the API. */

export type Call = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ status: number; json: ApiResponse }>;

interface ApiResponse {
  id: string;
  [field: string]: unknown;
}

export interface SampleData {
  /** A bounced message. */
  bouncedId: string;
  /** A delivered message that uses a template. */
  deliveredId: string;
}

export async function createSampleData(call: Call): Promise<SampleData> {
  // Live and test mode share templates.
  if ((await call('GET', '/templates/order-shipped')).status === 404) await writeTemplates(call);
  if ((await call('GET', '/streams/weekly-digest')).status === 404) {
    await mustCall(call, 'POST', '/streams', {
      key: 'weekly-digest',
      name: 'Weekly digest',
      purpose: 'subscription',
    });
  }
  for (const body of CONTACTS) await mustCall(call, 'PUT', `/contacts/${body.email}`, bodyOf(body));
  await mustCall(call, 'POST', '/suppressions', {
    email: 'old.address@example.net',
    reason: 'manual',
  });
  await mustCall(call, 'POST', '/suppressions', {
    email: 'sofia@example.net',
    stream: 'weekly-digest',
    reason: 'unsubscribe',
  });
  await mustCall(call, 'POST', '/suppressions', { domain: 'closed.example', reason: 'manual' });
  await mustCall(call, 'POST', '/api-keys', { name: 'Web shop', scopes: ['send:transactional'] });
  await mustCall(call, 'POST', '/api-keys', { name: 'Night report', scopes: ['read:messages'] });
  let bouncedId = '';
  let arrivedId = '';
  for (const [index, to] of RECIPIENTS.entries()) {
    const { json } = await mustCall(
      call,
      'POST',
      '/transactional/send',
      orderEmail(to, 1000 + index),
    );
    if (to.startsWith('bounced')) bouncedId = json.id;
    else if (!to.endsWith('simulator.test')) arrivedId = json.id;
  }
  return { bouncedId, deliveredId: arrivedId };
}

/** Simulated mail to the sender's domain, which must exist. Returns the newest, with everything in it. */
export async function createInboundSampleData(
  call: Call,
  { deliveredId }: SampleData,
): Promise<string> {
  let id = '';
  for (const body of INBOUND) {
    const answered = 'attachments' in body ? { in_reply_to_message_id: deliveredId } : {};
    const path = '/inbound-messages/simulate';
    id = (await mustCall(call, 'POST', path, { ...body, ...answered })).json.id;
  }
  return id;
}

export const SENDER_DOMAIN = 'fernhill.example';

const SENDER = { email: `orders@${SENDER_DOMAIN}`, name: 'Fernhill Bakery' };

const CONTACTS = [
  { email: 'ada@example.com', first_name: 'Ada', last_name: 'Byron', locale: 'en' },
  { email: 'emil@example.com', first_name: 'Emil', last_name: 'Berger', locale: 'de-AT' },
  { email: 'noor@example.org', first_name: 'Noor', last_name: 'Haddad', locale: 'en' },
  { email: 'sofia@example.net', first_name: 'Sofía', last_name: 'Prieto', locale: 'es' },
  { email: 'kenji@example.com', first_name: 'Kenji', last_name: 'Mori', locale: 'ja' },
];

const RECIPIENTS = [
  'ada@example.com',
  'bounced+order@simulator.test',
  'emil@example.com',
  'mailbox-full@simulator.test',
  'noor@example.org',
  'old.address@example.net',
  'complained@simulator.test',
  'kenji@example.com',
  'sofia@example.net',
];

const INBOUND = [
  {
    from: { email: 'emil@example.com', name: 'Emil Berger' },
    to: { email: `hello@${SENDER_DOMAIN}` },
    subject: 'Do you deliver on Sundays?',
    text: 'We are at home on Sundays only.',
  },
  {
    from: { email: 'no-reply@parcels.example' },
    to: { email: `returns+1042@${SENDER_DOMAIN}` },
    subject: '',
    text: 'Parcel 1042 has been returned.',
  },
  {
    from: { email: 'dana@example.org', name: 'דנה לוי' },
    to: { email: `hello@${SENDER_DOMAIN}` },
    subject: 'שאלה על ההזמנה שלי',
    text: 'שלום',
  },
  {
    from: { email: 'ada@example.com', name: 'Ada Byron' },
    to: { email: `orders@${SENDER_DOMAIN}`, name: 'Fernhill Bakery' },
    subject: 'Re: Your order 1000 is on its way',
    text: 'It has arrived, thank you.\n\nThe photo is attached.',
    html: '<p>It has arrived, thank you.</p><p>The photo is attached.</p>',
    attachments: [{ filename: 'loaf-on-the-doorstep.jpg', content: '/9j/4AAQSkZJRg==' }],
  },
];

function bodyOf({ email: _, ...fields }: (typeof CONTACTS)[number]) {
  return { ...fields, attributes: { plan: 'weekly box', loaves: 3 } };
}

export function orderEmail(to: string, order: number): Record<string, unknown> {
  return {
    to: { email: to },
    from: SENDER,
    template_key: 'order-shipped',
    template_variables: { order: String(order), day: 'Friday' },
    tags: ['orders'],
    metadata: { order_id: String(order) },
  };
}

/** Typical email of a day: mostly orders, some receipts and password resets. */
export function everydayEmail(to: string, order: number): Record<string, unknown> {
  const common = { to: { email: to }, from: SENDER, metadata: { order_id: String(order) } };
  if (order % 4 === 1) {
    return {
      ...common,
      subject: `Receipt for order ${order}`,
      html: '<p>Thank you. The receipt is attached.</p>',
      tags: ['receipts'],
    };
  }
  if (order % 9 === 2) {
    return {
      ...common,
      subject: 'Choose a new password',
      html: '<p>Follow the link within an hour.</p>',
      tags: ['account'],
    };
  }
  return orderEmail(to, order);
}

async function writeTemplates(call: Call): Promise<void> {
  await mustCall(call, 'POST', '/layouts', { key: 'base', name: 'Base layout', html: LAYOUT });
  await mustCall(call, 'POST', '/layouts/base/publish', {});
  await mustCall(call, 'POST', '/templates', {
    key: 'order-shipped',
    name: 'Order shipped',
    layout: 'base',
    from: SENDER,
    subject: 'Your order ${order} is on its way',
    html: SHIPPED,
    variables: [
      { name: 'order', example: '1042', description: 'The number on the receipt.' },
      { name: 'day', example: 'Friday' },
    ],
  });
  await mustCall(call, 'POST', '/templates/order-shipped/publish', { note: 'First version' });
  await mustCall(call, 'POST', '/templates', {
    key: 'password-reset',
    name: 'Password reset',
    subject: 'Choose a new password',
    html: '<p>Follow <a href="{{ reset_url }}">this link</a> within an hour.</p>',
    variables: [{ name: 'reset_url', example: 'https://fernhill.example/reset', secret: true }],
  });
}

const LAYOUT = `<!doctype html>
<html>
  <head>
    <style>
      body { margin: 0; background: #f6f1e7; font-family: Georgia, serif; color: #3b2f20; }
      .sheet { max-width: 520px; margin: 0 auto; padding: 32px 28px; background: #fffdf8; }
      .mark { color: #8a5a1f; font-size: 20px; letter-spacing: .04em; }
      .foot { margin-top: 32px; color: #7a6a55; font-size: 13px; }
    </style>
  </head>
  <body>
    <div class="sheet">
      <p class="mark">Fernhill Bakery</p>
      {{ content }}
      <p class="foot">Fernhill Bakery, 12 Mill Lane. You receive this email because you placed an order.</p>
    </div>
  </body>
</html>
`;

const SHIPPED = `<h1>Your order has shipped</h1>
<p>Hi {{ contact.first_name | default: "there" }},</p>
<p>Your order <b>{{ order }}</b> shipped this morning and arrives on {{ day }}.</p>
<p><a href="https://fernhill.example/orders/{{ order }}">Track your order</a></p>
`;

async function mustCall(call: Call, method: string, path: string, body: unknown) {
  const response = await call(method, path, body);
  if (response.status < 300) return response;
  throw new Error(
    `${method} ${path} returned ${response.status}: ${JSON.stringify(response.json)}`,
  );
}
