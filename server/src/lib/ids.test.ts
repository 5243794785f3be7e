import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeId, encodeId, newId, newIdPair, uuidFloor, uuidTime, uuidv7 } from './ids.ts';

test('every UUID survives encoding and decoding', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const id = encodeId('msg', uuid);
      expect(id).toMatch(/^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
      expect(decodeId('msg', id)).toBe(uuid);
    }),
  );
});

test('ids match the TypeID specification', () => {
  expect(encodeId('msg', '00000000-0000-0000-0000-000000000000')).toBe(`msg_${'0'.repeat(26)}`);
  expect(encodeId('msg', '01890a5d-ac96-774b-bcce-b302099a8057')).toBe(
    'msg_01h455vb4pex5vsknk084sn02q',
  );
  expect(encodeId('msg', 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe(`msg_7${'z'.repeat(25)}`);
});

test('invalid ids and other prefixes are rejected', () => {
  const id = encodeId('msg', '01890a5d-ac96-774b-bcce-b302099a8057');
  for (const wrong of [id.toUpperCase(), id.slice(0, -1), `${id}0`, id.replace('msg', 'evt'), '']) {
    expect(decodeId('msg', wrong)).toBeUndefined();
  }
  expect(decodeId('msg', `msg_8${'z'.repeat(25)}`)).toBeUndefined();
});

test('ids ascend within a process, also within a millisecond and if the clock is set back', () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => uuidv7(1_000_000 - (i % 3)));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('ids follow the clock again after it was far ahead', () => {
  const ms = 4_102_444_800_000;
  uuidv7(ms + 30 * 86_400_000);
  const { uuid } = newIdPair('msg', ms);
  expect(uuidTime(uuid)).toBe(ms);
  expect(uuidv7(ms) > uuid).toBe(true);
});

test('uuidTime and uuidFloor agree', () => {
  const ms = 4_102_444_800_123;
  expect(uuidTime(uuidv7(ms))).toBe(ms);
  expect(uuidFloor(ms) < uuidv7(ms)).toBe(true);
});

test('both formats of a new id agree, and it follows the previous one', () => {
  const before = newId('msg', 4_102_444_900_000);
  const { uuid, id } = newIdPair('msg', 4_102_444_900_000);
  expect(encodeId('msg', uuid)).toBe(id);
  expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(id > before).toBe(true);
});
