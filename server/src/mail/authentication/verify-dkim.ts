import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { toBuffer } from '../../lib/threads/serve-tasks.ts';
import { isVerifiable, withFewSignatures } from './dkim-signatures.ts';
import { type DnsErrorCode, dnsError } from './mailauth-resolver.ts';

/** Verifies the DKIM signatures of a mail, without network access: the keys were read before. */

export interface DkimTask {
  data: Uint8Array;
  /** TXT records, or why there are none, by name. */
  keys: Record<string, readonly (readonly string[])[] | DnsErrorCode>;
  nowMs: number;
}

export interface DkimVerification {
  result: string;
  domain: string | null;
  selector: string | null;
  /** The signature covers only a part of the body. */
  underSized: number;
}

export async function verifyDkim({ data, keys, nowMs }: DkimTask): Promise<DkimVerification[]> {
  const mail = toBuffer(data);
  if (!isVerifiable(mail)) return [UNVERIFIABLE];
  const { results } = await dkimVerify(withFewSignatures(mail), {
    // RFC 8301: RSA keys of less than 1,024 bits and SHA-1 prove nothing.
    minBitLength: 1024,
    rejectRsaSha1: true,
    curTime: new Date(nowMs),
    resolver: async (name: string) => {
      const answer = keys[name.toLowerCase()] ?? 'ENOTFOUND';
      if (typeof answer === 'string') throw dnsError(answer);
      return answer as string[][];
    },
  } as Parameters<typeof dkimVerify>[1]);
  // Without a domain, there is no signature.
  return results.flatMap(({ signingDomain, selector, status }) =>
    signingDomain
      ? {
          result: status.result,
          domain: signingDomain.toLowerCase(),
          selector: selector || null,
          underSized: Number(status.underSized ?? 0),
        }
      : [],
  );
}

const UNVERIFIABLE: DkimVerification = {
  result: 'permerror',
  domain: null,
  selector: null,
  underSized: 0,
};
