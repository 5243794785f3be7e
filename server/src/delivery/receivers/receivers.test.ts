import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { TlsaRecord } from '../../mail/dns/dns-message.ts';
import type { SmtpTarget } from '../../mail/smtp-client/open-connection.ts';
import { ReceiverBusyError, Receivers } from './receivers.ts';
import { createShaping } from './shaping.ts';

// Goal: the memory for domains is bounded, though their receivers stay in use forever.

test('the oldest of very many domains of one receiver are evicted, and resolved again', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.forServer({
    receiver: 'mx.provider.example',
    host: 'mx.provider.example',
  });
  for (let n = 0; n < 150_100; n++) receivers.assignDomain(`d${n}.example`, receiver, undefined);
  expect(receivers.limitFor('d150099.example', 'w')).toBe(receiver.concurrency);
  const concurrency = receivers.limitFor('d0.example', 'w');
  expect(concurrency).not.toBe(receiver.concurrency);
  // Transactions on an unresolved domain count at its receiver once that is known again.
  concurrency.acquire();
  receivers.assignDomain('d0.example', receiver, undefined);
  expect(receiver.concurrency.inUse).toBe(1);
  expect(receivers.limitFor('d0.example', 'w')).toBe(receiver.concurrency);
});

test('with a relay, every domain uses its limit', () => {
  const relay = { kind: 'relay', host: 'relay.example', port: 25, tls: 'required' } as const;
  const receivers = receiversOf([relay, { kind: 'direct' }]);
  const receiver = receivers.forServer({
    receiver: 'relay relay.example:25',
    host: 'relay.example',
  });
  receivers.assignDomain('one.example', receiver, undefined);
  expect(receivers.limitFor('one.example', 'w')).toBe(receiver.concurrency);
  expect(receivers.limitFor('two.example', 'w')).toBe(receiver.concurrency);
});

test('TLSA records in another order, or for another domain of the host, share a pool', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.forServer({ receiver: 'mx.example', host: 'mx.example' });
  const [one, two] = [1, 2].map((n) => tlsa(3, n)) as [TlsaRecord, TlsaRecord];
  const pool = (records: TlsaRecord[], domain: string) => {
    const tls = { kind: 'dane', records, names: ['mx.example', domain] } as const;
    const target = { host: 'mx.example', ip: '192.0.2.1', port: 25, tls };
    return receivers.poolFor(receiver, target, { relay: false, toSelf: false });
  };
  const known = pool([one, two], 'a.example');
  expect(pool([two, one], 'a.example')).toBe(known);
  expect(pool([one, two], 'b.example')).toBe(known);
  expect(pool([one], 'a.example')).not.toBe(known);
  // With a trust anchor the name counts, and may be that of the domain.
  const anchored = pool([one, tlsa(2, 3)], 'a.example');
  expect(pool([one, tlsa(2, 3)], 'b.example')).not.toBe(anchored);
});

test('customers of one provider share a receiver, and its throttle of an earlier process', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  receivers.remember([{ receiver: 'Microsoft', level: 5, pausedUntilMs: 60_000 }]);
  const [one, two] = ['a', 'b'].map((customer) => {
    const host = `${customer}-com.mail.protection.outlook.com`;
    return receivers.forServer({ receiver: host, host });
  });
  expect(one).toBe(two);
  expect(one?.throttle).toMatchObject({ level: 5, pausedUntilMs: 60_000 });
  expect(receivers.throttledCount).toBe(1);
});

test('names of one provider share a pool for an address, unless their certificate is checked', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const pool = (host: string, tls: SmtpTarget['tls'], ip = '192.0.2.1') => {
    const receiver = receivers.forServer({ receiver: host, host });
    return receivers.poolFor(
      receiver,
      { host, ip, port: 25, tls },
      { relay: false, toSelf: false },
    );
  };
  const [one, two] = ['a', 'b'].map((name) => `${name}-com.mail.protection.outlook.com`) as [
    string,
    string,
  ];
  const opportunistic = { kind: 'opportunistic' } as const;
  const shared = pool(one, opportunistic);
  expect(pool(two, opportunistic)).toBe(shared);
  expect(pool(two, opportunistic, '192.0.2.2')).not.toBe(shared);
  const required = pool(two, { kind: 'required' });
  expect(required).not.toBe(shared);
  expect(pool(one, { kind: 'required' })).toBe(required);
  // MTA-STS and DANE checked the name of one of them.
  const verified = pool(one, { kind: 'verified', names: [one] });
  expect([shared, required]).not.toContain(verified);
  expect(pool(two, { kind: 'verified', names: [two] })).not.toBe(verified);
  const dane = (host: string) => pool(host, { kind: 'dane', records: [tlsa(3, 1)], names: [host] });
  expect(dane(two)).not.toBe(dane(one));
  // Anyone can point a name of their own at the address.
  const own = pool('mx.example.com', opportunistic);
  expect(own).not.toBe(shared);
  expect(pool('mx.example.org', opportunistic)).not.toBe(own);
});

test('receivers are bounded, and their domains are resolved again', () => {
  const clock = new ManualClock(0);
  const receivers = receiversOf([{ kind: 'direct' }], clock);
  const use = (n: number) => {
    const host = `mx${n}.example`;
    const receiver = receivers.forServer({ receiver: host, host });
    receivers.assignDomain(`d${n}.example`, receiver, undefined);
    return receiver;
  };
  const busy = use(0);
  busy.concurrency.acquire();
  const throttled = use(1);
  throttled.throttled(0);
  const idle = use(2);
  for (let n = 3; n < 20_000; n++) use(n);
  expect(receivers.limitFor('d2.example', 'w')).toBe(idle.concurrency);
  use(20_000);
  expect(receivers.limitFor('d0.example', 'w')).toBe(busy.concurrency);
  expect(receivers.limitFor('d1.example', 'w')).toBe(throttled.concurrency);
  expect(receivers.limitFor('d2.example', 'w')).not.toBe(idle.concurrency);
  expect(receivers.limitFor('d3.example', 'w')).toBe(use(3).concurrency);
  expect(use(2)).not.toBe(idle);
});

test('receivers are removed ten minutes after their last use, in whatever order they were used', () => {
  const clock = new ManualClock(0);
  const receivers = receiversOf([{ kind: 'direct' }], clock);
  const use = (name: string) => receivers.forServer({ receiver: name, host: name });
  const [one, two] = [use('one.example'), use('two.example')];
  two.throttled(0);
  expect(receivers.throttledCount).toBe(1);
  clock.advance(300_000);
  use('one.example');
  clock.advance(302_001);
  receivers.sweep();
  expect(receivers.throttledCount).toBe(0);
  expect(use('two.example')).not.toBe(two);
  expect(use('one.example')).toBe(one);
});

test('few attempts wait for a connection to one address, or for one workspace', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const opening = (domain: string, workspaceId: string, address: string) => {
    const receiver = receivers.forServer({ receiver: domain, host: domain });
    receivers.assignDomain(domain, receiver, address);
    return receivers.startOpening(domain, workspaceId);
  };
  const waiting = Array.from({ length: 4 }, (_, n) => opening(`s${n}.test`, 'w', '192.0.2.1'));
  expect(() => opening('s5.test', 'w', '192.0.2.1')).toThrow(ReceiverBusyError);
  const limit = receivers.limitFor('s5.test', 'w');
  expect(limit.hasCapacity).toBe(false);
  // Six more of other addresses exhaust the workspace, and not its neighbor.
  for (let n = 0; n < 6; n++) opening(`o${n}.test`, 'w', `192.0.2.${n + 10}`);
  expect(() => opening('o7.test', 'w', '192.0.2.99')).toThrow(ReceiverBusyError);
  opening('o7.test', 'neighbor', '192.0.2.99');
  waiting[0]?.finish();
  waiting[0]?.finish();
  expect(limit.inUse).toBe(3);
  opening('s5.test', 'w', '192.0.2.1');
});

function tlsa(usage: number, n: number): TlsaRecord {
  return { usage, selector: 1, matchingType: 1, data: Buffer.alloc(32, n) };
}

function receiversOf(
  routes: ConstructorParameters<typeof Receivers>[0]['routes'],
  clock = new ManualClock(0),
): Receivers {
  return new Receivers({
    clock,
    heloName: 'mail.example.com',
    listenerName: 'mail.example.com',
    shaping: createShaping(),
    routes,
    openingsMax: 10,
    onCapacity: () => {},
  });
}
