import type { ApiKeys } from '../accounts/api-keys.ts';
import type { People } from '../accounts/people/people.ts';
import type { ContactImports } from '../contacts/contact-imports.ts';
import type { Contacts } from '../contacts/contacts.ts';
import type { Pool } from '../db/pool.ts';
import type { Domains } from '../domains/domains.ts';
import type { EventStreams } from '../events/event-streams.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import type { Idempotency } from '../messages/accept/idempotency.ts';
import type { MessageChanges } from '../messages/change-message.ts';
import type { TestInbox } from '../messages/test-inbox/test-inbox.ts';
import type { Erasures } from '../privacy/erase-address.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import type { Operation } from './operation.ts';
import { peopleOperations } from './people-operations.ts';
import { createApiKey } from './routes/api-keys/create.ts';
import { getApiKey } from './routes/api-keys/get.ts';
import { listApiKeys } from './routes/api-keys/list.ts';
import { revokeApiKey } from './routes/api-keys/revoke.ts';
import { rotateApiKey } from './routes/api-keys/rotate.ts';
import { updateApiKey } from './routes/api-keys/update.ts';
import { createContact } from './routes/contacts/create.ts';
import { deleteContact } from './routes/contacts/delete.ts';
import { exportContacts } from './routes/contacts/export.ts';
import { getContact } from './routes/contacts/get.ts';
import { getImport } from './routes/contacts/get-import.ts';
import { importContacts } from './routes/contacts/import.ts';
import { listContacts } from './routes/contacts/list.ts';
import { updateContact } from './routes/contacts/update.ts';
import { upsertContact } from './routes/contacts/upsert.ts';
import { createDomain } from './routes/domains/create.ts';
import { deleteDomain } from './routes/domains/delete.ts';
import { getDomain } from './routes/domains/get.ts';
import { listDomains } from './routes/domains/list.ts';
import { rotateDomainDkim } from './routes/domains/rotate-dkim.ts';
import { updateDomain } from './routes/domains/update.ts';
import { verifyDomain } from './routes/domains/verify.ts';
import { listEvents } from './routes/events/list.ts';
import { streamEvents } from './routes/events/stream.ts';
import { cancelMessage } from './routes/messages/cancel.ts';
import { getMessage } from './routes/messages/get.ts';
import { getMessageContent } from './routes/messages/get-content.ts';
import { getMessageRaw } from './routes/messages/get-raw.ts';
import { listMessages } from './routes/messages/list.ts';
import { listMessageAttempts } from './routes/messages/list-attempts.ts';
import { rescheduleMessage } from './routes/messages/reschedule.ts';
import { retryMessage } from './routes/messages/retry.ts';
import { getLimits, type PublishedLimits } from './routes/service/get-limits.ts';
import { getOpenapiJson, getOpenapiYaml } from './routes/service/get-openapi.ts';
import { getSmtp, type SmtpSettings } from './routes/service/get-smtp.ts';
import { getStats } from './routes/stats/get.ts';
import { getQueue } from './routes/stats/get-queue.ts';
import { listAlarms } from './routes/stats/list-alarms.ts';
import { createSuppression } from './routes/suppressions/create.ts';
import { createSuppressionsBulk } from './routes/suppressions/create-bulk.ts';
import { deleteSuppression } from './routes/suppressions/delete.ts';
import { deleteSuppressionByEmail } from './routes/suppressions/delete-by-email.ts';
import { getSuppression } from './routes/suppressions/get.ts';
import { listSuppressions } from './routes/suppressions/list.ts';
import { updateSuppression } from './routes/suppressions/update.ts';
import { clearTestInbox } from './routes/test-inbox/clear.ts';
import { deleteTestInboxMessage } from './routes/test-inbox/delete.ts';
import { getTestInboxMessage } from './routes/test-inbox/get.ts';
import { listTestInbox } from './routes/test-inbox/list.ts';
import { waitForTestMessage } from './routes/test-inbox/wait.ts';
import { checkTransactional } from './routes/transactional/check.ts';
import { sendTransactional } from './routes/transactional/send.ts';
import { sendBatch } from './routes/transactional/send-batch.ts';
import { LargeAnswers } from './server/large-response-limiter.ts';
import type { SessionCookie } from './server/session-cookie.ts';
import { type TemplateOperationParts, templateOperations } from './template-operations.ts';
import { type WebhookOperationParts, webhookOperations } from './webhook-operations.ts';

/** What the operations work with. */
export interface OperationParts extends TemplateOperationParts, WebhookOperationParts {
  pool: Pool;
  acceptor: MessageAcceptor;
  changes: MessageChanges;
  inbox: TestInbox;
  idempotency: Idempotency;
  contacts: Contacts;
  imports: ContactImports;
  erasures: Erasures;
  suppressions: Suppressions;
  domains: Domains;
  eventStreams: EventStreams;
  apiKeys: ApiKeys;
  people: People;
  cookie: SessionCookie;
  limits: PublishedLimits;
  smtpSettings: () => SmtpSettings;
  baseUrl: string;
  batchMax: number;
  /** The OpenAPI document, made from these very operations. */
  document: () => object;
}

/** All of the API, in the order in which the reference shows it. */
export function allOperations(given: OperationParts): Operation[] {
  const parts = { ...given, largeAnswers: new LargeAnswers() };
  return [
    sendTransactional(parts),
    sendBatch(parts),
    checkTransactional(),
    listMessages(parts),
    getMessage(parts),
    getMessageContent(parts),
    getMessageRaw(parts),
    listMessageAttempts(parts),
    rescheduleMessage(parts),
    cancelMessage(parts),
    retryMessage(parts),
    getStats(parts),
    getQueue(parts),
    listTestInbox(parts),
    waitForTestMessage(parts),
    getTestInboxMessage(parts),
    deleteTestInboxMessage(parts),
    clearTestInbox(parts),
    ...templateOperations(parts),
    listContacts(parts),
    createContact(parts),
    importContacts(parts),
    getImport(parts),
    exportContacts(parts),
    getContact(parts),
    upsertContact(parts),
    updateContact(parts),
    deleteContact(parts),
    listSuppressions(parts),
    createSuppression(parts),
    createSuppressionsBulk(parts),
    deleteSuppressionByEmail(parts),
    getSuppression(parts),
    updateSuppression(parts),
    deleteSuppression(parts),
    listDomains(parts),
    createDomain(parts),
    getDomain(parts),
    updateDomain(parts),
    deleteDomain(parts),
    verifyDomain(parts),
    rotateDomainDkim(parts),
    ...webhookOperations(parts),
    listEvents(parts),
    streamEvents(parts),
    listAlarms(parts),
    listApiKeys(parts),
    createApiKey(parts),
    getApiKey(parts),
    updateApiKey(parts),
    rotateApiKey(parts),
    revokeApiKey(parts),
    ...peopleOperations(parts),
    getLimits(parts),
    getSmtp(parts),
    getOpenapiJson(parts),
    getOpenapiYaml(parts),
  ];
}
