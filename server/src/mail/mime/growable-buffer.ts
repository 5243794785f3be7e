/**
 * A growing buffer that a message is written into from front to back. Encoders write directly into
 * it, so that a message costs one copy at the end instead of a buffer per part.
 */
export class GrowableBuffer {
  bytes: Buffer;
  length = 0;

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Ensures capacity for `octets` more; must be called before writing to `bytes` directly. */
  reserve(octets: number): void {
    const needed = this.length + octets;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  writeText(text: string): void {
    this.reserve(text.length * 3);
    this.length += this.bytes.write(text, this.length, 'utf8');
  }

  writeBytes(bytes: Buffer): void {
    this.reserve(bytes.length);
    this.length += bytes.copy(this.bytes, this.length);
  }

  endsWithLineBreak(): boolean {
    return this.length >= 2 && this.bytes[this.length - 1] === 0x0a;
  }

  /** A copy of the written bytes. The memory is kept for the next message. */
  copyOut(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.length));
  }
}
