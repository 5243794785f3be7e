import type { Schema } from '../../api/client.ts';
import type { Snippet } from '../../parts/code-block.tsx';

/** What a program that only speaks SMTP has to be told, ready for its settings or an .env file. */
export function smtpSnippet(token: string, smtp: Schema<'SmtpSettings'>): Snippet {
  if (!smtp.open) {
    return {
      name: 'SMTP',
      code: `# This server takes no mail by SMTP. ${smtp.closed_because ?? ''}`.trim(),
    };
  }
  return {
    name: 'SMTP',
    code: [
      `SMTP_HOST=${smtp.host}`,
      `SMTP_PORT=${smtp.port}`,
      `SMTP_USER=${smtp.user}`,
      `SMTP_PASSWORD=${token}`,
      encryption(smtp),
    ].join('\n'),
  };
}

function encryption({ starttls, plaintext }: Schema<'SmtpSettings'>): string {
  if (starttls) return 'SMTP_ENCRYPTION=starttls';
  return plaintext === 'anywhere'
    ? '# Without encryption: this server has no certificate for SMTP.'
    : '# Without encryption, and only from the machine that Postrider runs on.';
}
