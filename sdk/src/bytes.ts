/**
 * A copy of the bytes in a buffer of whatever kind, and undefined when it is none. Not by `instanceof`:
 * test runners and frameworks give programs globals that are not those of the runtime.
 */
export function bytesOf(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  const kind = Object.prototype.toString.call(value);
  return kind === '[object ArrayBuffer]' ? new Uint8Array(value as ArrayBuffer).slice() : undefined;
}
