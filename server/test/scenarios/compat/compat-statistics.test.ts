import { GetSendStatisticsCommand, SESClient } from '@aws-sdk/client-ses';
import sendgridClient from '@sendgrid/client';
import Mailgun from 'mailgun.js';
import { ServerClient } from 'postmark';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/** The statistics of a workspace, as the client libraries of other providers read them. */

const DOMAIN = 'acme.example';
const BROWSER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
};
const DAY_MS = 86_400_000;

let app: TestApp;

beforeAll(async () => {
  // One library warns about keys, and another one about times that are not text.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

function postmarkWith(key: string): ServerClient {
  const requestHost = `${new URL(app.url).host}/compat/postmark`;
  return new ServerClient(key, { useHttps: false, requestHost });
}

type SendGrid = (path: string, qs: object) => Promise<SendGridInterval[]>;

interface SendGridInterval {
  date: string;
  stats: { name?: string; type?: string; metrics: Record<string, number> }[];
}

function sendgridWith(key: string): SendGrid {
  // The library exports an instance; its types do not export the class.
  const client = new (sendgridClient.constructor as new () => typeof sendgridClient)();
  client.setApiKey(key);
  client.setDefaultRequest('baseUrl', `${app.url}/compat/sendgrid`);
  return async (url, qs) => {
    const [{ body }] = await client.request({ method: 'GET', url, qs: qs as never });
    return body as never;
  };
}

function mailgunWith(key: string) {
  const url = `${app.url}/compat/mailgun`;
  return new Mailgun(FormData).client({ username: 'api', key, url });
}

async function sesOfTestKey(): Promise<SESClient> {
  const key = app.liveKey;
  const { json: keys } = await app.call('GET', '/api-keys', { key });
  const { id } = keys.data.find(({ mode }: { mode: string }) => mode === 'test');
  const { json } = await app.call('POST', `/api-keys/${id}/ses-credentials`, { key });
  return new SESClient({
    region: 'eu-central-1',
    endpoint: `${app.url}/compat/ses`,
    credentials: { accessKeyId: json.access_key_id, secretAccessKey: json.secret_access_key },
  });
}

describe('messages of all outcomes', () => {
  beforeAll(async () => {
    const suppressions = [
      { email: 'gone@example.com', reason: 'hard_bounce' },
      { email: 'angry@example.com', reason: 'complaint' },
      { email: 'left@example.com', reason: 'unsubscribe' },
    ];
    await app.call('POST', '/suppressions/bulk', { body: { suppressions } });
    const recipients = [
      'bounced@simulator.test',
      'mailbox-full@simulator.test',
      'blocked@simulator.test',
      'complained@simulator.test',
      ...suppressions.map(({ email }) => email),
    ];
    for (const email of recipients) await send({ to: { email } });
    await open(
      await send({
        to: { email: 'jane@example.com' },
        html: '<a href="https://acme.example/1">One</a> <a href="https://acme.example/2">Two</a>',
        tracking: { opens: true, clicks: true },
      }),
    );
    await send({
      to: { email: 'joe@example.com' },
      tags: ['other'],
      from: { email: 'a@b.example' },
    });
    await until(async () => {
      const { json } = await app.call('GET', '/stats?interval=day&group_by=tag&value=receipt');
      const { delivered, bounced, complained, links_clicked } = json.data[0].totals;
      return delivered === 2 && bounced === 3 && complained === 1 && links_clicked === 2;
    });
  });

  async function send(changes: object): Promise<string> {
    const body = validMessage({ from: { email: `a@${DOMAIN}` }, tags: ['receipt'], ...changes });
    return (await app.call('POST', '/transactional/send', { body })).json.id;
  }

  async function open(id: string): Promise<void> {
    const path = `/test/inbox/${id}`;
    await until(async () => (await app.call('GET', path)).status === 200);
    const { html } = (await app.call('GET', path)).json;
    for (const [, link] of html.matchAll(/http:\/\/postrider\.test(\/t\/[^"]+)/g)) {
      await fetch(app.url + link, { redirect: 'manual', headers: BROWSER });
      // A second visit counts nothing.
      await fetch(app.url + link, { redirect: 'manual', headers: BROWSER });
    }
  }

  test('Postmark', async () => {
    const postmark = postmarkWith(app.testKey);
    const tag = 'receipt';
    expect(await postmark.getOutboundOverview({ tag })).toEqual({
      Sent: 5,
      Bounced: 3,
      BounceRate: 60,
      SpamComplaints: 1,
      SpamComplaintsRate: 20,
      UniqueOpens: 1,
      UniqueLinksClicked: 2,
    });
    const counted = { Days: expect.any(Array) };
    expect(await postmark.getSentCounts({ tag })).toEqual({ ...counted, Sent: 5 });
    expect(await postmark.getBounceCounts({ tag })).toEqual({
      ...counted,
      HardBounce: 1,
      SoftBounce: 1,
      Blocked: 1,
    });
    expect(await postmark.getSpamComplaintsCounts({ tag })).toEqual({
      ...counted,
      SpamComplaint: 1,
    });
    expect(await postmark.getEmailOpenCounts({ tag })).toEqual({ ...counted, Unique: 1 });
    expect(await postmark.getClickCounts({ tag })).toEqual({ ...counted, Unique: 2 });
    expect((await postmark.getSentCounts()).Sent).toBe(6);
    expect((await postmark.getSentCounts({ messageStream: 'outbound' })).Sent).toBe(6);
    const { Bounces } = await postmark.getDeliveryStatistics();
    expect(Object.fromEntries(Bounces.map(({ Name, Count }) => [Name, Count]))).toEqual({
      All: 4,
      'Hard bounce': 1,
      'Soft bounce': 1,
      'ISP block': 1,
      'Spam complaint': 1,
    });
  });

  test('SendGrid', async () => {
    const sendgrid = sendgridWith(app.testKey);
    const start_date = dayOf(Date.now() - DAY_MS);
    const all = await sendgrid('/v3/stats', { start_date });
    expect(addUp(all.map(({ stats }) => stats[0]?.metrics))).toMatchObject({
      requests: 9,
      delivered: 3,
    });
    const categories = await sendgrid('/v3/categories/stats', {
      start_date,
      categories: ['receipt', 'unused'],
    });
    const metricsOf = (name: string) =>
      categories.flatMap(({ stats }) => stats.filter((one) => one.name === name));
    expect(addUp(metricsOf('receipt').map(({ metrics }) => metrics))).toEqual({
      requests: 8,
      processed: 5,
      delivered: 2,
      deferred: 0,
      blocks: 2,
      bounces: 1,
      invalid_emails: 0,
      bounce_drops: 1,
      spam_report_drops: 1,
      unsubscribe_drops: 1,
      spam_reports: 1,
      unsubscribes: 0,
      unique_opens: 1,
      unique_clicks: 1,
    });
    expect(addUp(metricsOf('unused').map(({ metrics }) => metrics)).requests).toBe(0);
    const one = await sendgrid('/v3/categories/stats', { start_date, categories: 'receipt' });
    expect(one[0]?.stats).toMatchObject([{ type: 'category', name: 'receipt' }]);
  });

  test('Amazon SES', async () => {
    const ses = await sesOfTestKey();
    const { SendDataPoints = [] } = await ses.send(new GetSendStatisticsCommand({}));
    ses.destroy();
    const counts = SendDataPoints.map(({ Timestamp: _at, ...counted }) => counted);
    expect(addUp(counts as Record<string, number>[])).toEqual({
      DeliveryAttempts: 9,
      Bounces: 3,
      Complaints: 1,
      Rejects: 0,
    });
    for (const { Timestamp } of SendDataPoints) {
      expect(Date.now() - Number(Timestamp)).toBeLessThan(DAY_MS);
      expect(Number(Timestamp) % 3_600_000).toBe(0);
    }
  });

  test('Mailgun', async () => {
    const { stats } = mailgunWith(app.testKey);
    const event = [
      'accepted',
      'delivered',
      'failed',
      'opened',
      'clicked',
      'complained',
      'unsubscribed',
    ] as const;
    const ofDomain = await stats.getDomain(DOMAIN, { event: [...event], duration: '1d' });
    expect(ofDomain.resolution).toBe('day');
    // Yesterday and today, and another day at midnight.
    expect(ofDomain.stats.length).toBeGreaterThanOrEqual(2);
    expect(addUp(ofDomain.stats.map((one) => flatten(one)))).toEqual({
      'accepted.outgoing': 8,
      'accepted.total': 8,
      'delivered.smtp': 2,
      'delivered.http': 0,
      'delivered.total': 2,
      'failed.temporary.total': 0,
      'failed.permanent.bounce': 3,
      'failed.permanent.delayed-bounce': 0,
      'failed.permanent.suppress-bounce': 1,
      'failed.permanent.suppress-unsubscribe': 1,
      'failed.permanent.suppress-complaint': 1,
      'failed.permanent.total': 6,
      'opened.total': 1,
      'clicked.total': 2,
      'complained.total': 1,
      'unsubscribed.total': 0,
    });
    const hours = await stats.getAccount({ event: 'accepted', duration: '24h' });
    expect(hours.resolution).toBe('hour');
    expect(addUp(hours.stats.map((one) => flatten(one)))['accepted.total']).toBe(9);
  });

  test('Mailgun, as metrics', async () => {
    const { metrics } = mailgunWith(app.testKey);
    const counts = {
      accepted_outgoing_count: 8,
      delivered_smtp_count: 2,
      permanent_failed_count: 6,
      bounced_count: 3,
      suppressed_bounces_count: 1,
      opened_count: 1,
      clicked_count: 2,
      unique_clicked_count: 1,
      complained_count: 1,
    };
    const rates = { opened_rate: '0.5000', clicked_rate: '1.0000', unsubscribed_rate: '0.0000' };
    const query = {
      duration: '1d',
      dimensions: ['time'],
      metrics: [...Object.keys(counts), ...Object.keys(rates)],
      filter: {
        AND: [{ attribute: 'domain', comparator: '=', values: [{ label: DOMAIN, value: DOMAIN }] }],
      },
      include_aggregates: true,
    };
    const found = await metrics.getAccount(query);
    expect(found).toMatchObject({
      resolution: 'day',
      dimensions: ['time'],
      aggregates: { metrics: { ...counts, ...rates } },
      pagination: { total: found.items.length },
    });
    expect(found.items[0]?.dimensions).toEqual([
      { dimension: 'time', value: toDate(found.start), display_value: toDate(found.start) },
    ]);
    const sums = addUp(found.items.map((item) => flatten(countsOf(item.metrics))));
    expect(sums).toEqual(counts);
    const total = await metrics.getAccount({ metrics: ['accepted_count'] });
    expect(total.items).toEqual([{ dimensions: [], metrics: { accepted_count: 9 } }]);
  });
});

describe('periods', () => {
  let key: string;

  beforeAll(async () => {
    const { id: workspaceId } = await app.app.workspaces.create('Periods');
    key = await app.newKey({ workspaceId });
    await app.database.pool.query(
      `insert into statistics_day (workspace_id, mode, dimension, at, value, counter, n)
       select $1, 'test', dimension, day::timestamptz, value, 'accepted', n
         from (values ('2025-03-30T00:00:00Z', 1), ('2025-03-31T00:00:00Z', 2),
                      ('2025-04-02T00:00:00Z', 4)) days (day, n)
         cross join (values ('all', ''), ('tag', '(other)')) dimensions (dimension, value)`,
      [workspaceId],
    );
  });

  test('Postmark has days with counts, of which the last is included', async () => {
    const postmark = postmarkWith(key);
    const fromDate = '2025-03-30';
    expect(await postmark.getSentCounts({ fromDate, toDate: '2025-04-02' })).toEqual({
      Days: [
        { Date: '2025-03-30', Sent: 1 },
        { Date: '2025-03-31', Sent: 2 },
        { Date: '2025-04-02', Sent: 4 },
      ],
      Sent: 7,
    });
    expect((await postmark.getSentCounts({ fromDate, toDate: '2025-03-31' })).Sent).toBe(3);
    expect(await postmark.getEmailOpenCounts({ fromDate })).toEqual({ Days: [], Unique: 0 });
    expect(await postmark.getOutboundOverview({ toDate: '2025-03-01' })).toMatchObject({
      Sent: 0,
      BounceRate: 0,
    });
  });

  test.each([
    ['day', ['2025-03-30', 1], ['2025-03-31', 2], ['2025-04-01', 0], ['2025-04-02', 4]],
    ['week', ['2025-03-24', 1], ['2025-03-31', 6]],
    ['month', ['2025-03-01', 3], ['2025-04-01', 4]],
  ])('SendGrid has every %s', async (aggregated_by, ...expected) => {
    const period = { start_date: '2025-03-30', end_date: '2025-04-02', aggregated_by };
    const intervals = await sendgridWith(key)('/v3/stats', period);
    const requests = intervals.map(({ date, stats }) => [date, stats[0]?.metrics.requests]);
    expect(requests).toEqual(expected);
    const page = await sendgridWith(key)('/v3/stats', { ...period, limit: 1, offset: 1 });
    expect(page).toEqual(intervals.slice(1, 2));
  });

  test('Mailgun has every day or month, and the last is included', async () => {
    const { stats } = mailgunWith(key);
    const period = {
      start: new Date('2025-03-30T12:00:00Z'),
      end: 'Wed, 02 Apr 2025 12:00:00 UTC',
    };
    const days = await stats.getAccount({ event: 'accepted', ...period });
    expect([days.start, days.end]).toEqual([
      new Date('2025-03-30T00:00:00Z'),
      new Date('2025-04-02T00:00:00Z'),
    ]);
    const totals = ({ stats: found }: typeof days) =>
      found.map((one) => flatten(one)['accepted.total']);
    expect(totals(days)).toEqual([1, 2, 0, 4]);
    const months = { event: 'accepted', duration: '2m', end: period.end } as const;
    expect(totals(await stats.getAccount(months))).toEqual([0, 3, 4]);
    const byMonth = { event: 'accepted', ...period, resolution: 'month' } as const;
    expect(totals(await stats.getAccount(byMonth))).toEqual([3, 4]);
  });

  test('a group that may be counted with others is refused', async () => {
    const period = { fromDate: '2025-03-30', toDate: '2025-04-02' };
    await expect(postmarkWith(key).getSentCounts({ tag: 'rare', ...period })).rejects.toThrow(
      'tag: "rare" may be counted together with others',
    );
    const before = { fromDate: '2025-03-01', toDate: '2025-03-29' };
    expect((await postmarkWith(key).getSentCounts({ tag: 'rare', ...before })).Sent).toBe(0);
  });
});

describe('requests that cannot be answered are refused', () => {
  test('Postmark', async () => {
    const postmark = postmarkWith(app.testKey);
    await expect(postmark.getTrackedEmailCounts({ tag: 'receipt' })).rejects.toMatchObject({
      statusCode: 404,
      message: expect.stringMatching(/^How many emails are sent with tracking/),
    });
    for (const request of [
      () => postmark.getEmailOpenPlatformUsage(),
      () => postmark.getEmailOpenClientUsage(),
      () => postmark.getClickBrowserUsage(),
      () => postmark.getClickPlatformUsage(),
    ]) {
      await expect(request()).rejects.toThrow(/^Nothing is recorded about who opens emails/);
    }
    await expect(postmark.getEmailOpenReadTimes()).rejects.toThrow(/^How long/);
    await expect(postmark.getClickLocation()).rejects.toThrow(/by location/);
    const both = { tag: 'receipt', messageStream: 'outbound' };
    await expect(postmark.getSentCounts(both)).rejects.toThrow(/by tag and by stream/);
    for (const fromDate of ['2010-01-01', '9999-12-31', 'yesterday']) {
      await expect(postmark.getSentCounts({ fromDate })).rejects.toMatchObject({
        statusCode: 422,
        message: expect.stringMatching(/^fromdate: /),
      });
    }
  });

  test.each([
    ['/v3/stats', { start_date: '2025-02-30' }, 'start_date'],
    ['/v3/stats', { start_date: '2025-03-02', end_date: '2025-03-01' }, 'start_date'],
    ['/v3/stats', { start_date: '2010-01-01' }, 'start_date'],
    ['/v3/stats', { start_date: '2025-03-01', aggregated_by: 'hour' }, 'aggregated_by'],
    ['/v3/categories/stats', { start_date: '2025-03-01' }, 'categories'],
  ])('SendGrid, %s with %j', async (path, query, field) => {
    await expect(sendgridWith(app.testKey)(path, query)).rejects.toMatchObject({
      code: 400,
      response: { body: { errors: [{ field, message: expect.any(String) }] } },
    });
  });

  test('Mailgun', async () => {
    const { stats, domains } = mailgunWith(app.testKey);
    const long = Date.now() - 100 * DAY_MS;
    for (const [query, message] of [
      [{ event: 'stored' }, /event/],
      [{ event: 'accepted', duration: '1w' }, /duration/],
      [{ event: 'accepted', duration: '2000h' }, /at most 1500 hours/],
      [
        {
          event: 'accepted',
          resolution: 'hour',
          start: new Date(long).toUTCString(),
          end: new Date(long + DAY_MS).toUTCString(),
        },
        /Hours are kept for 90 days/,
      ],
    ] as const) {
      await expect(stats.getAccount(query as never)).rejects.toMatchObject({
        status: 400,
        details: expect.stringMatching(message),
      });
    }
    const { metrics } = mailgunWith(app.testKey);
    const both = ['domain', 'tag'].map((attribute) => ({
      attribute,
      comparator: '=',
      values: [{ value: 'x' }],
    }));
    for (const [query, message] of [
      [{ metrics: ['sent_count'] }, /metrics\/0/],
      [{ dimensions: ['country'] }, /dimensions\/0/],
      [{ filter: { AND: both } }, /filter\/AND/],
      [{ duration: '2000h' }, /at most 1500 hours/],
    ] as const) {
      await expect(metrics.getAccount(query as never)).rejects.toMatchObject({
        status: 400,
        details: expect.stringMatching(message),
      });
    }
    await expect(
      domains.domainTags.statistic(DOMAIN, 'receipt', { event: 'accepted' }),
    ).rejects.toMatchObject({ status: 404, details: expect.stringMatching(/not by both/) });
  });
});

test('statistics need the right to read messages', async () => {
  const key = await app.newKey({ scopes: ['send:transactional'] });
  await expect(postmarkWith(key).getSentCounts()).rejects.toMatchObject({ statusCode: 401 });
});

/** Without rates, which are text. */
function countsOf(metrics: object): object {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.endsWith('_count')));
}

/** As Mailgun writes it. */
function toDate(time: Date | null): string {
  return (time as Date).toUTCString().replace('GMT', '+0000');
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function addUp(all: (Record<string, number> | undefined)[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, n] of all.flatMap((one) => Object.entries(one ?? {}))) {
    sums[name] = (sums[name] ?? 0) + n;
  }
  return sums;
}

/** The numbers in an object, by the path to them. */
function flatten(value: object, prefix = ''): Record<string, number> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      typeof inner === 'number'
        ? [[prefix + name, inner]]
        : inner instanceof Date
          ? []
          : Object.entries(flatten(inner, `${prefix}${name}.`)),
    ),
  );
}
