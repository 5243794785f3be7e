import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';

export type Reason = Schema<'Suppression'>['reason'];

export const REASONS: Record<Reason, { label: string; tone: Tone }> = {
  hard_bounce: { label: 'Hard bounce', tone: 'bad' },
  complaint: { label: 'Complaint', tone: 'warn' },
  manual: { label: 'Manual', tone: 'plain' },
  unsubscribe: { label: 'Unsubscribed', tone: 'info' },
};
