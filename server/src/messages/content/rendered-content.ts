import type { Envelope } from '../accept/parse-envelope.ts';
import type { SendLimits } from '../accept/send-limits.ts';
import type { SendRequest } from '../accept/send-request.ts';
import type { HeaderValues } from './header-fields.ts';

/** What rendering takes and returns: plain data, which can cross a thread boundary. */

export interface RenderInput {
  request: SendRequest;
  envelope: Envelope;
  headers: [string, string][];
  publicId: string;
  limits: SendLimits;
  nowMs: number;
  contact: ContactValues | undefined;
}

export type ContactValues = { [key: string]: unknown; locale: string | null };

/** The content of a request after rendering. */
export interface RenderedContent {
  template: { key: string; version: number | 'draft' } | null;
  /** The stream that the template is for, if any. */
  templateStream: string | undefined;
  fields: RenderedFields;
  /** Without secret values; the same object as `fields` when there are none. */
  redacted: RenderedFields;
}

export interface RenderedFields extends HeaderValues {
  subject: string;
  html: string;
  text: string | null;
}
