import { expect, test } from 'vitest';
import { uuidTime, uuidv7 } from '../../lib/ids.ts';
import { xorIds } from './webhook-history.ts';

test('a delivery id converts back to its event id and differs between endpoints', () => {
  const [one, other] = [uuidv7(1), uuidv7(2)];
  for (let n = 0; n < 200; n++) {
    const event = uuidv7(Date.UTC(2026, 10, 15) + n);
    const delivery = xorIds(one, event);
    expect(xorIds(one, delivery)).toBe(event);
    expect(delivery).not.toBe(xorIds(other, event));
    expect(delivery).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(uuidTime(delivery)).toBe(uuidTime(event));
  }
});
