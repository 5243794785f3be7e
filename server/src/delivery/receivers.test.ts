import { expect, test } from 'vitest';
import { ManualClock } from '../base/manual-clock.ts';
import { Receivers } from './receivers.ts';
import { shapingBy } from './shaping.ts';

// Goal: what is remembered of domains has a bound, though their receivers stay in use for ever.

test('of very many domains of one receiver the oldest are forgotten, and learned again', () => {
  const receivers = receiversOf([{ kind: 'direct' }]);
  const receiver = receivers.of({ receiver: 'mx.provider.example', host: 'mx.provider.example' });
  for (let n = 0; n < 20_100; n++) receivers.belongs(`d${n}.example`, receiver);
  expect(receivers.gateFor('d20099.example')).toBe(receiver.gate);
  const gate = receivers.gateFor('d0.example');
  expect(gate).not.toBe(receiver.gate);
  // Whoever is on the way there counts at the receiver, once that is known again.
  gate.entered();
  receivers.belongs('d0.example', receiver);
  expect(receiver.gate.inUse).toBe(1);
  expect(receivers.gateFor('d0.example')).toBe(receiver.gate);
});

test('with a relay every domain is at its gate', () => {
  const relay = { kind: 'relay', host: 'relay.example', port: 25, tls: 'required' } as const;
  const receivers = receiversOf([relay, { kind: 'direct' }]);
  const receiver = receivers.of({ receiver: 'relay relay.example:25', host: 'relay.example' });
  receivers.belongs('one.example', receiver);
  expect(receivers.gateFor('one.example')).toBe(receiver.gate);
  expect(receivers.gateFor('two.example')).toBe(receiver.gate);
});

function receiversOf(routes: ConstructorParameters<typeof Receivers>[0]['routes']): Receivers {
  return new Receivers({
    clock: new ManualClock(0),
    heloName: 'mail.example.com',
    shaping: shapingBy(),
    routes,
    onOpen: () => {},
  });
}
