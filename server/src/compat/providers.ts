import type { CompatProvider } from './compat-provider.ts';
import { resend } from './resend/resend.ts';

export const PROVIDERS: readonly CompatProvider[] = [resend];
