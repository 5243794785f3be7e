import { Type } from 'typebox';
import type { Caller } from '../../../accounts/caller.ts';
import type { OperatorCaller } from '../../../accounts/operator-keys.ts';
import type { Mode } from '../../../accounts/tenant-scope.ts';
import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import type { ContentArchive } from '../../../messages/archive/content-archive.ts';
import { exportFile, FILE_NAME_HEADER, listItems } from '../../export-operation.ts';
import { closed, oneOf } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { listApiKeys } from '../api-keys/list.ts';
import { listAuditLog } from '../audit-log/list.ts';
import { listContacts } from '../contacts/list.ts';
import { listDomains } from '../domains/list.ts';
import { listEvents } from '../events/list.ts';
import { listInboundMessages } from '../inbound-messages/list.ts';
import { listInvitations } from '../invitations/list.ts';
import { listMembers } from '../members/list.ts';
import { listMessages } from '../messages/list.ts';
import { listStreams } from '../streams/list.ts';
import { listSuppressions } from '../suppressions/list.ts';
import { listTemplateDrafts } from '../templates/list-drafts.ts';
import { listWebhooks } from '../webhooks/list.ts';
import { contentLines, type ListedMessage, rawLines } from './export-contents.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

/** What a workspace consists of, by the type that a line of the export names. */
const LISTS = {
  member: listMembers,
  invitation: listInvitations,
  domain: listDomains,
  stream: listStreams,
  template: listTemplateDrafts,
  api_key: listApiKeys,
  webhook: listWebhooks,
  contact: listContacts,
  suppression: listSuppressions,
  message: listMessages,
  inbound_message: listInboundMessages,
  event: listEvents,
  audit_log_entry: listAuditLog,
};

/** What all of the lists need. */
type Sources = (typeof LISTS)[keyof typeof LISTS] extends (deps: infer All) => unknown
  ? All
  : never;

const EXAMPLE = {
  type: 'contact',
  data: { email: 'jane@example.com', first_name: 'Jane', created_at: '2026-11-15T09:30:00.000Z' },
};

export function exportOperatorWorkspace(
  deps: Sources & {
    workspaces: Workspaces;
    contents: ContentArchive;
    inboundMessages: InboundMessages;
    largeAnswers: LargeResponseLimiter;
  },
): Operation {
  const lists = Object.entries(LISTS).map(
    ([type, list]) => [type, list(deps)] as [string, Operation],
  );
  return operation(
    {
      id: 'exportOperatorWorkspace',
      method: 'GET',
      path: '/operator/workspaces/{id}/export',
      tag: 'Operator',
      summary: 'Export a workspace',
      description:
        'One line of JSON for each object, as the API returns it, with its type: `workspace`, ' +
        `${Object.keys(LISTS)
          .map((type) => `\`${type}\``)
          .join(
            ', ',
          )}. A \`message_content\` follows each page of messages for those whose content ` +
        'is still kept, also in the archive: `message_id`, the fields of ' +
        '`GET /messages/{id}/content`, and the files as Base64 in `attachments[].content`. In the ' +
        'same way, an `inbound_message_content` has `inbound_message_id`, and in `raw` the message ' +
        'as it was received, in Base64. The audit log of the workspace records the export. Secrets ' +
        'are not included: sensitive values ' +
        'are redacted as in the API. If the archive cannot be reached, the response is cut off.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      query: closed({
        mode: Type.Optional(
          oneOf(['live', 'test'] as const, {
            default: 'live',
            description: 'Of the objects that belong to one mode, such as messages and contacts.',
          }),
        ),
        contents: Type.Optional(
          Type.Boolean({
            default: true,
            description: 'Whether the contents of messages, sent and inbound, are included.',
          }),
        ),
      }),
      audited: true,
      responses: {
        200: {
          description: 'The workspace.',
          mediaType: 'application/x-ndjson',
          body: Type.String(),
          example: `${JSON.stringify(EXAMPLE)}\n`,
          headers: FILE_NAME_HEADER,
        },
      },
      problems: ['not_found', 'quota_exceeded'],
    },
    async (request) => {
      const { mode = 'live', contents = true } = request.query;
      const workspace = await workspaceInPath(deps.workspaces, request.params);
      await deps.largeAnswers.acquire(workspace.id, request.signal);
      const caller = readerOf(workspace.id, mode, request.operator as OperatorCaller);
      const contentsOf = (type: string, items: readonly unknown[]) => {
        switch (type) {
          case 'message':
            return contentLines(deps.contents, caller, items as ListedMessage[]);
          case 'inbound_message':
            return rawLines(deps.inboundMessages, caller, items as { id: string }[]);
          default:
            return [];
        }
      };
      async function* lines(): AsyncGenerator<string> {
        yield line('workspace', publicWorkspace(workspace));
        for (const [type, list] of lists) {
          for await (const items of listItems(list, request, caller)) {
            if (items.length > 0) yield items.map((item) => line(type, item)).join('');
            if (contents) yield* contentsOf(type, items);
          }
        }
      }
      return exportFile('workspace', 'ndjson', lines());
    },
  );
}

function line(type: string, data: unknown): string {
  return `${JSON.stringify({ type, data })}\n`;
}

/** Reads the workspace on behalf of the operator. */
function readerOf(workspaceId: string, mode: Mode, { actor }: OperatorCaller): Caller {
  return { workspaceId, mode, scopes: new Set(), allowedDomains: [], actor, keyId: undefined };
}
