import type { Schema } from '../../api/client.ts';
import type { Snippet } from '../../components/code-block.tsx';

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
      `SMTP_PORT=${smtp.tls_port ?? smtp.port}`,
      `SMTP_USER=${smtp.user}`,
      `SMTP_PASSWORD=${token}`,
      ...encryption(smtp),
    ].join('\n'),
  };
}

/** RFC 8314 prefers the port that is encrypted from the first byte; not every program can do it. */
function encryption(smtp: Schema<'SmtpSettings'>): string[] {
  const { port, tls_port: tlsPort, starttls, plaintext } = smtp;
  if (tlsPort !== null) {
    const other = `# Programs that know only STARTTLS take port ${port}.`;
    return ['SMTP_ENCRYPTION=tls', ...(port === null ? [] : [other])];
  }
  if (starttls) return ['SMTP_ENCRYPTION=starttls'];
  return plaintext === 'anywhere'
    ? ['# Without encryption: this server has no certificate for SMTP.']
    : ['# Without encryption, and only from the machine that Postrider runs on.'];
}
