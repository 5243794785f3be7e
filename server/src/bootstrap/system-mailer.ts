import type { Caller } from '../accounts/caller.ts';
import type { SystemEmail, SendSystemEmail } from '../accounts/people/system-emails.ts';
import type { Domains } from '../domains/domains.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import type { AcceptedMessage } from '../messages/accept/send-request.ts';

/**
 * The service's own letters, sent through the service itself: like any live message, from a domain of
 * the workspace, whose members see that it was sent but not the link in it.
 */
export function createSystemMailer(parts: {
  acceptor: MessageAcceptor;
  domains: Pick<Domains, 'list'>;
  log: Log;
}): SendSystemEmail {
  return async (letter, workspaceIds) => {
    for (const workspaceId of new Set(workspaceIds)) {
      const domain = await sendingDomain(parts.domains, workspaceId);
      if (domain === undefined) continue;
      try {
        return await send(parts.acceptor, workspaceId, domain, letter);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        parts.log.warn({ err: error, workspace: workspaceId }, 'a letter of our own was refused');
      }
    }
    return false;
  };
}

async function sendingDomain(
  domains: Pick<Domains, 'list'>,
  workspaceId: string,
): Promise<string | undefined> {
  const all = await domains.list({ workspaceId }, { limit: 1000 });
  return all.find(({ trusted, status }) => trusted || status === 'verified')?.name;
}

async function send(
  acceptor: MessageAcceptor,
  workspaceId: string,
  domain: string,
  letter: SystemEmail,
): Promise<boolean> {
  const { response: answer } = await acceptor.acceptOne(
    systemCaller(workspaceId),
    {
      to: letter.to,
      from: { email: `postrider@${domain}`, name: 'Postrider' },
      subject: letter.subject,
      html: letter.html,
      variables: letter.variables,
      tracking: { opens: false, clicks: false },
      ttl_seconds: letter.ttlSeconds,
      secret_variables: ['link'],
    },
    undefined,
    (message) => ({ status: 202, body: JSON.stringify(message) }),
  );
  const { recipients } = JSON.parse(answer.body) as AcceptedMessage;
  return recipients.some(({ status }) => status !== 'suppressed');
}

function systemCaller(workspaceId: string): Caller {
  return {
    workspaceId,
    mode: 'live',
    scopes: new Set(['send:transactional']),
    allowedDomains: [],
    actor: 'postrider',
    keyId: undefined,
  };
}
