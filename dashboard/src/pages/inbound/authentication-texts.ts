import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';

type Authentication = Schema<'InboundAuthentication'>;

/** The result of one check of the sender, explained. */
export interface CheckResult {
  /** The check that is explained. */
  check: 'SPF' | 'DKIM' | 'DMARC';
  result: string;
  tone: Tone;
  explanation: string;
}

/** The results of SPF, DKIM (one for each signature) and DMARC, with what they mean. */
export function explainAuthentication({ spf, dkim, dmarc }: Authentication): CheckResult[] {
  const signatures = dkim.length > 0 ? dkim : [UNSIGNED];
  return [
    {
      check: 'DMARC',
      result: dmarc.result,
      tone: TONES[dmarc.result],
      explanation: explainDmarc(dmarc),
    },
    { check: 'SPF', result: spf.result, tone: TONES[spf.result], explanation: explainSpf(spf) },
    ...signatures.map(
      (signature): CheckResult => ({
        check: 'DKIM',
        result: signature.result,
        tone: TONES[signature.result],
        explanation: explainDkim(signature),
      }),
    ),
  ];
}

const UNSIGNED = { result: 'none', domain: null, selector: null } as const;

const TONES: Record<Authentication['spf' | 'dmarc']['result'] | DkimResult, Tone> = {
  pass: 'good',
  fail: 'bad',
  softfail: 'warn',
  policy: 'warn',
  neutral: 'plain',
  none: 'plain',
  temperror: 'warn',
  permerror: 'warn',
};

type DkimResult = Authentication['dkim'][number]['result'];

const TEMPORARY = 'Could not be checked, because a DNS lookup failed or took too long.';

function explainSpf({ result, domain }: Authentication['spf']): string {
  const name = domain ?? 'the sender’s domain';
  switch (result) {
    case 'pass':
      return `The server that sent it may send mail for ${name}.`;
    case 'fail':
      return `The server that sent it may not send mail for ${name}.`;
    case 'softfail':
      return `The server that sent it probably may not send mail for ${name}.`;
    case 'neutral':
      return `The SPF record of ${name} says nothing about the server that sent it.`;
    case 'none':
      return domain === null ? 'There is no domain to check.' : `${name} has no SPF record.`;
    case 'temperror':
      return TEMPORARY;
    case 'permerror':
      return `The SPF record of ${name} has errors.`;
  }
}

function explainDkim({ result, domain }: Authentication['dkim'][number]): string {
  const name = domain ?? 'an unknown domain';
  switch (result) {
    case 'pass':
      return `Signed by ${name} and not changed since.`;
    case 'fail':
      return `The signature of ${name} does not match: the message was changed or forged.`;
    case 'policy':
      return `The signature of ${name} matches, but is not strong enough to be trusted.`;
    case 'neutral':
      return `The signature of ${name} could not be evaluated.`;
    case 'none':
      return 'The message is not signed.';
    case 'temperror':
      return TEMPORARY;
    case 'permerror':
      return `The signature of ${name} or its key has errors.`;
  }
}

const POLICIES = {
  none: 'to deliver it anyway',
  quarantine: 'to treat it as suspicious',
  reject: 'to reject it',
} as const;

function explainDmarc({ result, policy, domain }: Authentication['dmarc']): string {
  const name = domain ?? 'the sender’s domain';
  switch (result) {
    case 'pass':
      return `The sender’s address belongs to ${name}, which SPF or DKIM confirms.`;
    case 'fail':
      return policy === null
        ? `Neither SPF nor DKIM confirms that it comes from ${name}.`
        : `Neither SPF nor DKIM confirms that it comes from ${name}, which asks receivers ${POLICIES[policy]}.`;
    case 'none':
      return domain === null
        ? 'There is no domain to check.'
        : `${name} has no DMARC record, so anyone can use its addresses.`;
    case 'temperror':
      return TEMPORARY;
    case 'permerror':
      return `The DMARC record of ${name} has errors.`;
  }
}
