import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * An authenticator in software, for passkeys: an ES256 key per credential, discoverable, with user
 * verification and a signature counter. What it sends can be changed to be wrong.
 */
export class SoftwareAuthenticator {
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  readonly credentialId = randomBytes(32);
  userHandle = '';
  counter = 0;
  /** The page that the browser claims to be on. */
  origin: string;
  rpId: string;
  userVerified = true;
  attestation = 'none';

  constructor(origin: string) {
    this.origin = origin;
    this.rpId = new URL(origin).hostname;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    // RFC 9052 section 7: kty EC2, alg ES256, crv P-256, x, y.
    this.#publicKey = cborMap([
      [cborInteger(1), cborInteger(2)],
      [cborInteger(3), cborInteger(-7)],
      [cborInteger(-1), cborInteger(1)],
      [cborInteger(-2), cborBytes(Buffer.from(x, 'base64url'))],
      [cborInteger(-3), cborBytes(Buffer.from(y, 'base64url'))],
    ]);
  }

  /** The response of `navigator.credentials.create()`. */
  create(options: { challenge: string; user: { id: string } }) {
    this.userHandle = options.user.id;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const credential = [Buffer.alloc(16), length, this.credentialId, this.#publicKey];
    const authenticatorData = Buffer.concat([this.#data(ATTESTED), ...credential]);
    const attestation = cborMap([
      [cborText('fmt'), cborText(this.attestation)],
      [cborText('attStmt'), cborMap([])],
      [cborText('authData'), cborBytes(authenticatorData)],
    ]);
    return this.#credential({
      clientDataJSON: this.#clientData('webauthn.create', options.challenge).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** The response of `navigator.credentials.get()`. */
  get(options: { challenge: string }) {
    this.counter += 1;
    const clientData = this.#clientData('webauthn.get', options.challenge);
    const data = this.#data(0);
    const signed = Buffer.concat([data, hash('sha256', clientData, 'buffer')]);
    return this.#credential({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, this.#key).toString('base64url'),
      userHandle: this.userHandle,
    });
  }

  #credential<T>(response: T) {
    const id = this.credentialId.toString('base64url');
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(
      JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }),
    );
  }

  /** WebAuthn section 6.1: hash of the RP ID, flags, counter. */
  #data(more: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const flags = PRESENT | (this.userVerified ? VERIFIED : 0) | more;
    return Buffer.concat([hash('sha256', this.rpId, 'buffer'), Buffer.from([flags]), counter]);
  }
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;

/** RFC 8949 section 3: a major type and an argument below 65,536. */
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  if (value < 256) return Buffer.from([(major << 5) | 24, value]);
  return Buffer.from([(major << 5) | 25, value >> 8, value & 0xff]);
}

function cborInteger(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
}

function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, text.length), Buffer.from(text)]);
}

function cborMap(entries: [Buffer, Buffer][]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()]);
}
