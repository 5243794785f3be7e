import { expect, test } from 'vitest';
import { uuidTime, uuidv7 } from '../lib/ids.ts';
import { mixIds } from './delivery-id.ts';

test('a delivery’s id leads back to its event, and differs from one endpoint to the next', () => {
  const [one, other] = [uuidv7(1), uuidv7(2)];
  for (let n = 0; n < 200; n++) {
    const event = uuidv7(Date.UTC(2026, 10, 15) + n);
    const delivery = mixIds(one, event);
    expect(mixIds(one, delivery)).toBe(event);
    expect(delivery).not.toBe(mixIds(other, event));
    expect(delivery).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(uuidTime(delivery)).toBe(uuidTime(event));
  }
});
