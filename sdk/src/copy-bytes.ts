/**
 * Copies the bytes of any kind of buffer; undefined for other values. It does not use `instanceof`,
 * because test runners and frameworks replace the globals of the runtime.
 */
export function copyBytes(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  const kind = Object.prototype.toString.call(value);
  return kind === '[object ArrayBuffer]' ? new Uint8Array(value as ArrayBuffer).slice() : undefined;
}
