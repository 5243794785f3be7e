import { type FieldError, invalidFields } from '../../lib/refused-error.ts';

/** The `o:` fields of a message as fields of our own send. What has no equivalent is refused. */
export interface SendOptions {
  fields: {
    tags?: string[];
    tracking?: { opens?: boolean; clicks?: boolean };
    scheduled_at?: string;
    ttl_seconds?: number;
  };
  isTest: boolean;
}

const UNSUPPORTED: Record<string, string> = {
  'o:secondary-dkim': 'Messages are signed with the keys of the sending domain.',
  'o:secondary-dkim-public': 'Messages are signed with the keys of the sending domain.',
  'o:deliverytime-optimize-period': 'Send time optimization is not supported.',
  'o:time-zone-localize': 'Send time optimization is not supported. Use `o:deliverytime`.',
  'o:sending-ip': 'The operator selects the addresses that mail is sent from.',
  'o:sending-ip-pool': 'The operator selects the addresses that mail is sent from.',
  'o:tracking-pixel-location-top': 'The open pixel is always at the end of the message.',
  'o:archive-to': 'Copies to another URL are not supported. Use a webhook.',
  'o:suppress-headers': 'No headers are added that could be left out.',
};

export function parseSendOptions(form: Record<string, unknown>, nowMs: number): SendOptions {
  const fields: SendOptions['fields'] = {};
  let isTest = false;
  const tracking: { opens?: boolean; clicks?: boolean } = {};
  const errors: FieldError[] = [];
  for (const name in form) {
    if (!name.startsWith('o:')) continue;
    const value = form[name];
    const refuse = (detail: string, code = 'unsupported'): void => {
      errors.push({ pointer: `/${name}`, code, detail });
    };
    if (name === 'o:tag') {
      fields.tags = [...new Set([value].flat().map(String))];
      continue;
    }
    if (typeof value !== 'string') {
      refuse('Must be given once, as text.', 'invalid_type');
      continue;
    }
    switch (name) {
      case 'o:deliverytime': {
        const atMs = Date.parse(value);
        if (Number.isNaN(atMs)) {
          refuse('Not a date. Write `Fri, 25 Oct 2026 23:10:10 -0000`.', 'invalid_format');
        } else if (atMs > nowMs) fields.scheduled_at = new Date(atMs).toISOString();
        // A time in the past means now, as at Mailgun.
        break;
      }
      case 'o:deliver-within': {
        const [, hours = '0', minutes = '0'] = /^(?:(\d{1,3})h)?(?:(\d{1,4})m)?$/.exec(value) ?? [];
        const seconds = Number(hours) * 3600 + Number(minutes) * 60;
        if (seconds === 0) refuse('Not a duration. Write `2h30m`.', 'invalid_format');
        else fields.ttl_seconds = seconds;
        break;
      }
      case 'o:tracking':
      case 'o:tracking-clicks':
      case 'o:tracking-opens': {
        const isOn = value === 'htmlonly' && name !== 'o:tracking-opens' ? true : parseFlag(value);
        if (isOn === undefined) refuse(YES_OR_NO, 'invalid_format');
        else if (name === 'o:tracking-opens') tracking.opens = isOn;
        else if (name === 'o:tracking-clicks') tracking.clicks = isOn;
        else {
          tracking.opens ??= isOn;
          tracking.clicks ??= isOn;
        }
        break;
      }
      case 'o:testmode': {
        const isOn = parseFlag(value);
        if (isOn === undefined) refuse(YES_OR_NO, 'invalid_format');
        else isTest = isOn;
        break;
      }
      case 'o:dkim':
        if (parseFlag(value) !== true) refuse('Every message is signed with DKIM.');
        break;
      case 'o:require-tls':
        if (parseFlag(value) !== false) {
          refuse('TLS cannot be required for one message. Set it for the domain.');
        }
        break;
      case 'o:skip-verification':
        if (parseFlag(value) !== false) {
          refuse('Certificates are verified whenever the receiver publishes a policy.');
        }
        break;
      default:
        refuse(UNSUPPORTED[name] ?? 'There is no such option.');
    }
  }
  if (errors.length > 0) throw invalidFields(errors);
  if (Object.keys(tracking).length > 0) fields.tracking = tracking;
  return { fields, isTest };
}

const YES_OR_NO = 'Must be `yes` or `no`.';

export function parseFlag(value: string): boolean | undefined {
  if (/^(yes|true)$/i.test(value)) return true;
  return /^(no|false)$/i.test(value) ? false : undefined;
}
