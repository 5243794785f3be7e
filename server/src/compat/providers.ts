import type { CompatProvider } from './compat-provider.ts';
import { mailgun } from './mailgun/mailgun.ts';
import { postmark } from './postmark/postmark.ts';
import { resend } from './resend/resend.ts';
import { sendgrid } from './sendgrid/sendgrid.ts';
import { ses } from './ses/ses.ts';

export const PROVIDERS: readonly CompatProvider[] = [mailgun, postmark, resend, sendgrid, ses];
