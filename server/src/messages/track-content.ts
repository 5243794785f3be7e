import type { Mode } from '../accounts/mode.ts';
import type { SenderDomain } from '../domains/sender-domains.ts';
import type { MessageContent } from './content.ts';
import type { SendRequest } from './send-request.ts';

/** Puts what tells of opens and clicks into a message's html: the room of tracking does it. */
export type TrackContent = (content: MessageContent, wanted: TrackingWanted) => MessageContent;

export interface TrackingWanted {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  opens: boolean;
  clicks: boolean;
  /** Of the sender's domain; null: ours. */
  host: string | null;
}

/** What the request says, else its domain. */
export function trackingAsked(
  { tracking }: SendRequest,
  domain: SenderDomain | undefined,
): { opens: boolean; clicks: boolean } {
  return {
    opens: tracking?.opens ?? domain?.trackOpens ?? false,
    clicks: tracking?.clicks ?? domain?.trackClicks ?? false,
  };
}
