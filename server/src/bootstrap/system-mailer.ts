import type { Caller } from '../accounts/caller.ts';
import type { SendSystemEmail, SystemEmail } from '../accounts/people/system-emails.ts';
import type { Domains } from '../domains/domains.ts';
import { decodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import { SYSTEM_TAG } from '../messages/system-tag.ts';

/**
 * Sends system emails, such as password resets and invitations, as live messages of a workspace from
 * one of its domains. They do not count as messages of the workspace. Its members can see that one was
 * sent, but not the link in it.
 */
export function createSystemMailer(parts: {
  acceptor: MessageAcceptor;
  domains: Pick<Domains, 'list'>;
  log: Log;
}): SendSystemEmail {
  return async (email, workspaceIds) => {
    for (const workspaceId of new Set(workspaceIds)) {
      const domain = await sendingDomain(parts.domains, workspaceId);
      if (domain === undefined) continue;
      try {
        return await send(parts.acceptor, workspaceId, domain, email);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        parts.log.warn({ err: error, workspace_id: workspaceId }, 'system email rejected');
      }
    }
    return undefined;
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
  email: SystemEmail,
): Promise<string | undefined> {
  const { message } = await acceptor.accept(systemCaller(workspaceId), {
    to: email.to,
    from: { email: `postrider@${domain}`, name: 'Postrider' },
    subject: email.subject,
    html: email.html,
    variables: email.variables,
    tags: [SYSTEM_TAG],
    tracking: { opens: false, clicks: false },
    ttl_seconds: email.ttlSeconds,
    secret_variables: ['link'],
  });
  const suppressed = message.recipients.every(({ status }) => status === 'suppressed');
  return suppressed ? undefined : decodeId('msg', message.id);
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
