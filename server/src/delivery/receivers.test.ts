import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import type { TlsaRecord } from '../mail/dns/resolver.ts';
import { ReceiverBusyError, Receivers } from './receivers.ts';
import { createShaping } from './shaping.ts';

// Goal: the memory for domains is bounded, though their receivers stay in use forever.

test('the oldest of very many domains of one receiver are evicted, and resolved again', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.forServer({
    receiver: 'mx.provider.example',
    host: 'mx.provider.example',
  });
  for (let n = 0; n < 20_100; n++) receivers.assignDomain(`d${n}.example`, receiver, undefined);
  expect(receivers.limitFor('d20099.example', 'w')).toBe(receiver.concurrency);
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
    return receivers.poolFor(receiver, target, false);
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

function receiversOf(routes: ConstructorParameters<typeof Receivers>[0]['routes']): Receivers {
  return new Receivers({
    clock: new ManualClock(0),
    heloName: 'mail.example.com',
    shaping: createShaping(),
    routes,
    openingsMax: 10,
    onCapacity: () => {},
  });
}
