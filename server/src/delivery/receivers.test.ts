import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import type { TlsaRecord } from '../mail/dns/resolver.ts';
import { Receivers } from './receivers.ts';
import { createShaping } from './shaping.ts';

// Goal: what is remembered of domains has a bound, though their receivers stay in use for ever.

test('of very many domains of one receiver the oldest are forgotten, and learned again', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.forServer({
    receiver: 'mx.provider.example',
    host: 'mx.provider.example',
  });
  for (let n = 0; n < 20_100; n++) receivers.assignDomain(`d${n}.example`, receiver);
  expect(receivers.limitFor('d20099.example')).toBe(receiver.concurrency);
  const concurrency = receivers.limitFor('d0.example');
  expect(concurrency).not.toBe(receiver.concurrency);
  // Whoever is on the way there counts at the receiver, once that is known again.
  concurrency.acquire();
  receivers.assignDomain('d0.example', receiver);
  expect(receiver.concurrency.inUse).toBe(1);
  expect(receivers.limitFor('d0.example')).toBe(receiver.concurrency);
});

test('with a relay every domain is at its concurrency', () => {
  const relay = { kind: 'relay', host: 'relay.example', port: 25, tls: 'required' } as const;
  const receivers = receiversOf([relay, { kind: 'direct' }]);
  const receiver = receivers.forServer({
    receiver: 'relay relay.example:25',
    host: 'relay.example',
  });
  receivers.assignDomain('one.example', receiver);
  expect(receivers.limitFor('one.example')).toBe(receiver.concurrency);
  expect(receivers.limitFor('two.example')).toBe(receiver.concurrency);
});

test('TLSA records in another order, or for another domain of the host, are the same demand', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.forServer({ receiver: 'mx.example', host: 'mx.example' });
  const [one, two] = [1, 2].map((n) => tlsa(3, n)) as [TlsaRecord, TlsaRecord];
  const endpoint = (records: TlsaRecord[], domain: string) => {
    const tls = { kind: 'dane', records, names: ['mx.example', domain] } as const;
    const target = { host: 'mx.example', ip: '192.0.2.1', port: 25, tls };
    return receivers.poolFor(receiver, target, false);
  };
  const known = endpoint([one, two], 'a.example');
  expect(endpoint([two, one], 'a.example')).toBe(known);
  expect(endpoint([one, two], 'b.example')).toBe(known);
  expect(endpoint([one], 'a.example')).not.toBe(known);
  // Below an authority the name counts, and may be that of the domain.
  const anchored = endpoint([one, tlsa(2, 3)], 'a.example');
  expect(endpoint([one, tlsa(2, 3)], 'b.example')).not.toBe(anchored);
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
    onCapacity: () => {},
  });
}
