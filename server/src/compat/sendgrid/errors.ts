import { Type } from 'typebox';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import type { FieldError } from '../../lib/refused-error.ts';

/** https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/responses */

const NullableText = Type.Union([Type.String(), Type.Null()]);

export const SendGridErrors = Type.Object(
  {
    errors: Type.Array(
      Type.Object({
        message: Type.String(),
        field: NullableText,
        help: Type.Union([Type.String(), Type.Null()], {
          description: 'The page that explains the error.',
        }),
      }),
    ),
  },
  { title: 'SendGridErrors' },
);

/** SendGrid answers 400 to every body that it understands and refuses. */
const STATUSES: Record<number, number> = { 412: 400, 422: 400 };

export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { status, detail, errors = [], type: help } = problem;
  const shown =
    errors.length > 0 ? distinct(errors.map(toError)) : [{ message: detail, field: null }];
  return {
    status: STATUSES[status] ?? status,
    headers,
    mediaType: 'application/json; charset=utf-8',
    body: JSON.stringify({ errors: shown.map((error) => ({ ...error, help })) }),
  };
}

/** A placeholder without a value is reported for each part of the content. */
function distinct<T extends { message: string; field: string | null }>(errors: T[]): T[] {
  const byText = new Map(errors.map((error) => [`${error.field} ${error.message}`, error]));
  return [...byText.values()];
}

function toError({ pointer, parameter, code, detail }: FieldError) {
  const field = pointer ? fieldOf(pointer) : (parameter ?? null);
  const text = unsupported(field, code) ?? detail;
  // Most programs show the message alone.
  return { message: field === null ? text : `${field}: ${text}`, field };
}

/** SendGrid separates the parts of a field with dots: `personalizations.0.to`. */
function fieldOf(pointer: string): string {
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

/**
 * What SendGrid has and Postrider does not. The schema leaves these fields out or only takes the value
 * that disables them, so they are refused as unknown or invalid; this says why.
 */
const UNSUPPORTED: Record<string, string> = {
  'asm.groups_to_display':
    'Recipients can leave every stream that gets their consent. Leave groups_to_display out.',
  ip_pool_name: 'IP pools are not supported. Mail is sent from the addresses of this server.',
  sections: 'Sections are not supported. Write their text into the substitutions.',
  'mail_settings.bcc': 'This setting is not supported. Use bcc of a personalization.',
  'mail_settings.bypass_bounce_management': 'Suppressions cannot be bypassed.',
  'mail_settings.bypass_list_management': 'Suppressions cannot be bypassed.',
  'mail_settings.bypass_spam_management': 'Suppressions cannot be bypassed.',
  'mail_settings.bypass_unsubscribe_management': 'Suppressions cannot be bypassed.',
  'mail_settings.footer': 'Footers are not supported. Write the footer into the content.',
  'mail_settings.spam_check': 'Spam checks are not supported.',
  'tracking_settings.click_tracking.enable_text': 'Links in plain text are not tracked.',
  'tracking_settings.ganalytics':
    'Links are not extended for Google Analytics. Write utm parameters into the links.',
  'tracking_settings.open_tracking.substitution_tag':
    'The position of the tracking image cannot be chosen.',
  'tracking_settings.subscription_tracking':
    'Unsubscribe links are not added to mail. Write your own into the content.',
};

function unsupported(field: string | null, code: string): string | undefined {
  if (code !== 'unknown_field' && code !== 'invalid_value') return undefined;
  return UNSUPPORTED[(field ?? '').replace(/\.enable$/, '')];
}
