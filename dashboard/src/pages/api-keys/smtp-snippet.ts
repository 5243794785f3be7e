import type { Schema } from '../../api/client.ts';
import type { Snippet } from '../../components/code-block.tsx';

/** SMTP settings for a key, ready for an .env file. */
export function smtpSnippet(token: string, smtp: Schema<'SmtpSettings'>): Snippet {
  if (!smtp.open) {
    return {
      name: 'SMTP',
      code: `# SMTP is not available on this server. ${smtp.closed_because ?? ''}`.trim(),
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

/** RFC 8314 prefers implicit TLS over STARTTLS; not every client supports it. */
function encryption(smtp: Schema<'SmtpSettings'>): string[] {
  const { port, tls_port: tlsPort, starttls, plaintext } = smtp;
  if (tlsPort !== null) {
    const other = `# For clients that only support STARTTLS, use port ${port}.`;
    return ['SMTP_ENCRYPTION=tls', ...(port === null ? [] : [other])];
  }
  if (starttls) return ['SMTP_ENCRYPTION=starttls'];
  return plaintext === 'anywhere'
    ? ['# Not encrypted: this server has no TLS certificate for SMTP.']
    : ['# Not encrypted, and only available on the machine that runs Postrider.'];
}
