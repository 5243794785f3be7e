import type { ApiKeys } from '../../accounts/api-keys.ts';
import type { People } from '../../accounts/people/people.ts';
import type { ContactImports } from '../../contacts/contact-imports.ts';
import type { Contacts } from '../../contacts/contacts.ts';
import type { Erasures } from '../../contacts/erase-address.ts';
import type { Domains } from '../../domains/domains.ts';
import type { EventStreams } from '../../events/event-streams.ts';
import type { MessageAcceptor } from '../../messages/accept-message.ts';
import type { MessageChanges } from '../../messages/change-message.ts';
import type { Idempotency } from '../../messages/idempotency.ts';
import type { TestInbox } from '../../messages/test-inbox.ts';
import type { Pool } from '../../storage/pool.ts';
import type { Suppressions } from '../../suppressions/suppressions.ts';
import { LargeAnswers } from './large-answers.ts';
import type { Operation } from './operation.ts';
import { cancelMessage } from './operations/cancel-message.ts';
import { checkTransactional } from './operations/check-transactional.ts';
import { clearTestInbox } from './operations/clear-test-inbox.ts';
import { createApiKey } from './operations/create-api-key.ts';
import { createContact } from './operations/create-contact.ts';
import { createDomain } from './operations/create-domain.ts';
import { createSuppression } from './operations/create-suppression.ts';
import { createSuppressionsBulk } from './operations/create-suppressions-bulk.ts';
import { deleteContact } from './operations/delete-contact.ts';
import { deleteDomain } from './operations/delete-domain.ts';
import { deleteSuppression } from './operations/delete-suppression.ts';
import { deleteSuppressionByEmail } from './operations/delete-suppression-by-email.ts';
import { deleteTestInboxMessage } from './operations/delete-test-inbox-message.ts';
import { exportContacts } from './operations/export-contacts.ts';
import { getApiKey } from './operations/get-api-key.ts';
import { getContact } from './operations/get-contact.ts';
import { getDomain } from './operations/get-domain.ts';
import { getImport } from './operations/get-import.ts';
import { getLimits, type PublishedLimits } from './operations/get-limits.ts';
import { getMessage } from './operations/get-message.ts';
import { getMessageContent } from './operations/get-message-content.ts';
import { getMessageRaw } from './operations/get-message-raw.ts';
import { getOpenapiJson, getOpenapiYaml } from './operations/get-openapi.ts';
import { getQueue } from './operations/get-queue.ts';
import { getSmtp, type SmtpSettings } from './operations/get-smtp.ts';
import { getStats } from './operations/get-stats.ts';
import { getSuppression } from './operations/get-suppression.ts';
import { getTestInboxMessage } from './operations/get-test-inbox-message.ts';
import { importContacts } from './operations/import-contacts.ts';
import { listAlarms } from './operations/list-alarms.ts';
import { listApiKeys } from './operations/list-api-keys.ts';
import { listContacts } from './operations/list-contacts.ts';
import { listDomains } from './operations/list-domains.ts';
import { listEvents } from './operations/list-events.ts';
import { listMessageAttempts } from './operations/list-message-attempts.ts';
import { listMessages } from './operations/list-messages.ts';
import { listSuppressions } from './operations/list-suppressions.ts';
import { listTestInbox } from './operations/list-test-inbox.ts';
import { rescheduleMessage } from './operations/reschedule-message.ts';
import { retryMessage } from './operations/retry-message.ts';
import { revokeApiKey } from './operations/revoke-api-key.ts';
import { rotateApiKey } from './operations/rotate-api-key.ts';
import { rotateDomainDkim } from './operations/rotate-domain-dkim.ts';
import { sendBatch } from './operations/send-batch.ts';
import { sendTransactional } from './operations/send-transactional.ts';
import { streamEvents } from './operations/stream-events.ts';
import { updateApiKey } from './operations/update-api-key.ts';
import { updateContact } from './operations/update-contact.ts';
import { updateDomain } from './operations/update-domain.ts';
import { updateSuppression } from './operations/update-suppression.ts';
import { upsertContact } from './operations/upsert-contact.ts';
import { verifyDomain } from './operations/verify-domain.ts';
import { waitForTestMessage } from './operations/wait-for-test-message.ts';
import { peopleOperations } from './people-operations.ts';
import type { SessionCookie } from './session-cookie.ts';
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
