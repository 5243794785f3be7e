// Generated from the route files by `npm run generate`. Do not edit.
import { createSesCredentials } from './api-keys/create-ses-credentials.ts';
import { createApiKey } from './api-keys/create.ts';
import { getCurrentApiKey } from './api-keys/get-current.ts';
import { getApiKey } from './api-keys/get.ts';
import { listSesCredentials } from './api-keys/list-ses-credentials.ts';
import { listApiKeys } from './api-keys/list.ts';
import { revokeSesCredentials } from './api-keys/revoke-ses-credentials.ts';
import { revokeApiKey } from './api-keys/revoke.ts';
import { rotateApiKey } from './api-keys/rotate.ts';
import { updateApiKey } from './api-keys/update.ts';
import { listAuditLog } from './audit-log/list.ts';
import { completePasswordReset } from './auth/complete-password-reset.ts';
import { createOwner } from './auth/create-owner.ts';
import { getSetup } from './auth/get-setup.ts';
import { requestPasswordReset } from './auth/request-password-reset.ts';
import { signInWithCode } from './auth/sign-in-with-code.ts';
import { signIn } from './auth/sign-in.ts';
import { signOut } from './auth/sign-out.ts';
import { undoEmailChange } from './auth/undo-email-change.ts';
import { createContact } from './contacts/create.ts';
import { deleteContact } from './contacts/delete.ts';
import { exportContacts } from './contacts/export.ts';
import { getImport } from './contacts/get-import.ts';
import { getContact } from './contacts/get.ts';
import { importContacts } from './contacts/import.ts';
import { listContacts } from './contacts/list.ts';
import { updateContact } from './contacts/update.ts';
import { upsertContact } from './contacts/upsert.ts';
import { createDomain } from './domains/create.ts';
import { deleteDomain } from './domains/delete.ts';
import { getDomainDnsZone } from './domains/get-dns-zone.ts';
import { getDomain } from './domains/get.ts';
import { listDomains } from './domains/list.ts';
import { rotateDomainDkim } from './domains/rotate-dkim.ts';
import { updateDomain } from './domains/update.ts';
import { verifyDomain } from './domains/verify.ts';
import { exportEvents } from './events/export.ts';
import { listEvents } from './events/list.ts';
import { streamEvents } from './events/stream.ts';
import { deleteInboundMessages } from './inbound-messages/delete-many.ts';
import { deleteInboundMessage } from './inbound-messages/delete.ts';
import { getInboundMessageAttachment } from './inbound-messages/get-attachment.ts';
import { getInboundMessageRaw } from './inbound-messages/get-raw.ts';
import { getInboundMessage } from './inbound-messages/get.ts';
import { listInboundMessages } from './inbound-messages/list.ts';
import { simulateInboundMessage } from './inbound-messages/simulate.ts';
import { acceptInvitation } from './invitations/accept.ts';
import { createInvitationLink } from './invitations/create-link.ts';
import { createInvitation } from './invitations/create.ts';
import { inspectInvitation } from './invitations/inspect.ts';
import { listInvitations } from './invitations/list.ts';
import { resendInvitation } from './invitations/resend.ts';
import { revokeInvitation } from './invitations/revoke.ts';
import { changePassword } from './me/change-password.ts';
import { confirmEmailChange } from './me/confirm-email-change.ts';
import { confirmTotp } from './me/confirm-totp.ts';
import { deleteMe } from './me/delete.ts';
import { endSession } from './me/end-session.ts';
import { endSessions } from './me/end-sessions.ts';
import { exportMe } from './me/export.ts';
import { getMe } from './me/get.ts';
import { listSessions } from './me/list-sessions.ts';
import { removeTotp } from './me/remove-totp.ts';
import { renewRecoveryCodes } from './me/renew-recovery-codes.ts';
import { requestEmailChange } from './me/request-email-change.ts';
import { restoreMe } from './me/restore.ts';
import { startTotp } from './me/start-totp.ts';
import { updateMe } from './me/update.ts';
import { listMembers } from './members/list.ts';
import { removeMember } from './members/remove.ts';
import { updateMember } from './members/update.ts';
import { cancelMessage } from './messages/cancel.ts';
import { exportMessages } from './messages/export.ts';
import { getMessageContent } from './messages/get-content.ts';
import { getMessageRaw } from './messages/get-raw.ts';
import { getMessage } from './messages/get.ts';
import { listMessageAttempts } from './messages/list-attempts.ts';
import { listMessages } from './messages/list.ts';
import { rescheduleMessage } from './messages/reschedule.ts';
import { retryMessage } from './messages/retry.ts';
import { createOperatorKey } from './operator-keys/create.ts';
import { listOperatorKeys } from './operator-keys/list.ts';
import { revokeOperatorKey } from './operator-keys/revoke.ts';
import { addOperatorMember } from './operator/add-member.ts';
import { createOperatorApiKey } from './operator/create-api-key.ts';
import { createOperatorWorkspace } from './operator/create-workspace.ts';
import { deleteOperatorWorkspace } from './operator/delete-workspace.ts';
import { exportOperatorWorkspace } from './operator/export-workspace.ts';
import { getOperatorBrake } from './operator/get-brake.ts';
import { getOperatorMonthlyUsage } from './operator/get-monthly-usage.ts';
import { getOperatorQuotas } from './operator/get-quotas.ts';
import { getOperatorStatus } from './operator/get-status.ts';
import { getOperatorUsage } from './operator/get-usage.ts';
import { getOperatorWorkspace } from './operator/get-workspace.ts';
import { inviteOperatorMember } from './operator/invite-member.ts';
import { listOperatorAuditLog } from './operator/list-audit-log.ts';
import { listOperatorMembers } from './operator/list-members.ts';
import { listOperatorQueue } from './operator/list-queue.ts';
import { listOperatorWorkspaces } from './operator/list-workspaces.ts';
import { releaseOperatorBrake } from './operator/release-brake.ts';
import { removeOperatorMember } from './operator/remove-member.ts';
import { restoreOperatorWorkspace } from './operator/restore-workspace.ts';
import { resumeOperatorWorkspace } from './operator/resume-workspace.ts';
import { setOperatorBrake } from './operator/set-brake.ts';
import { setOperatorQuotas } from './operator/set-quotas.ts';
import { suspendOperatorWorkspace } from './operator/suspend-workspace.ts';
import { updateOperatorWorkspace } from './operator/update-workspace.ts';
import { createPasskey } from './passkeys/create.ts';
import { deletePasskey } from './passkeys/delete.ts';
import { listPasskeys } from './passkeys/list.ts';
import { signInWithPasskey } from './passkeys/sign-in.ts';
import { startPasskey } from './passkeys/start-registration.ts';
import { startPasskeySignIn } from './passkeys/start-sign-in.ts';
import { updatePasskey } from './passkeys/update.ts';
import { getRequest } from './requests/get.ts';
import { listRequests } from './requests/list.ts';
import { getLimits } from './service/get-limits.ts';
import { getOpenapiJson, getOpenapi30Json, getOpenapiYaml } from './service/get-openapi.ts';
import { getSmtp } from './service/get-smtp.ts';
import { deleteSingleSignOn } from './single-sign-on/delete.ts';
import { getSignInOptions } from './single-sign-on/get-options.ts';
import { getSingleSignOn } from './single-sign-on/get.ts';
import { putSingleSignOn } from './single-sign-on/put.ts';
import { getQueue } from './stats/get-queue.ts';
import { getUsage } from './stats/get-usage.ts';
import { getStats } from './stats/get.ts';
import { listAlarms } from './stats/list-alarms.ts';
import { createStream } from './streams/create.ts';
import { deleteStream } from './streams/delete.ts';
import { getStream } from './streams/get.ts';
import { listStreams } from './streams/list.ts';
import { updateStream } from './streams/update.ts';
import { createSuppressionsBulk } from './suppressions/create-bulk.ts';
import { createSuppression } from './suppressions/create.ts';
import { deleteSuppressionByEmail } from './suppressions/delete-by-email.ts';
import { deleteSuppression } from './suppressions/delete.ts';
import { exportSuppressions } from './suppressions/export.ts';
import { getSuppression } from './suppressions/get.ts';
import { listSuppressions } from './suppressions/list.ts';
import { updateSuppression } from './suppressions/update.ts';
import { checkTemplate } from './templates/check.ts';
import { compareTemplateVersions } from './templates/compare-versions.ts';
import { createTemplate } from './templates/create.ts';
import { deleteTemplate } from './templates/delete.ts';
import { getTemplateSchema } from './templates/get-schema.ts';
import { getTemplateVersion } from './templates/get-version.ts';
import { getTemplate } from './templates/get.ts';
import { listTemplateDrafts } from './templates/list-drafts.ts';
import { listTemplateVersions } from './templates/list-versions.ts';
import { listTemplates } from './templates/list.ts';
import { publishTemplate } from './templates/publish.ts';
import { pushTemplateDrafts } from './templates/push-drafts.ts';
import { renderTemplate } from './templates/render.ts';
import { testSendTemplate } from './templates/test-send.ts';
import { updateTemplate } from './templates/update.ts';
import { clearTestInbox } from './test-inbox/clear.ts';
import { deleteTestInboxMessage } from './test-inbox/delete.ts';
import { getTestInboxMessage } from './test-inbox/get.ts';
import { listTestInbox } from './test-inbox/list.ts';
import { waitForTestMessage } from './test-inbox/wait.ts';
import { checkTransactional } from './transactional/check.ts';
import { dryRunTransactional } from './transactional/dry-run.ts';
import { sendBatch } from './transactional/send-batch.ts';
import { sendBulk } from './transactional/send-bulk.ts';
import { sendRaw } from './transactional/send-raw.ts';
import { sendTransactional } from './transactional/send.ts';
import { createWebhook } from './webhooks/create.ts';
import { deleteWebhook } from './webhooks/delete.ts';
import { findWebhookDeliveries } from './webhooks/find-deliveries.ts';
import { findWebhookDelivery } from './webhooks/find-delivery.ts';
import { getWebhookDelivery } from './webhooks/get-delivery.ts';
import { getWebhook } from './webhooks/get.ts';
import { listWebhookDeliveries } from './webhooks/list-deliveries.ts';
import { listWebhooks } from './webhooks/list.ts';
import { replayWebhook } from './webhooks/replay.ts';
import { rotateWebhookSecret } from './webhooks/rotate-secret.ts';
import { testWebhook } from './webhooks/test.ts';
import { updateWebhook } from './webhooks/update.ts';
import { createWorkspace } from './workspaces/create.ts';
import { deleteWorkspace } from './workspaces/delete.ts';
import { leaveWorkspace } from './workspaces/leave.ts';
import { listWorkspaces } from './workspaces/list.ts';
import { restoreWorkspace } from './workspaces/restore.ts';
import { updateWorkspace } from './workspaces/update.ts';

export const ROUTES = [
  createSesCredentials,
  createApiKey,
  getCurrentApiKey,
  getApiKey,
  listSesCredentials,
  listApiKeys,
  revokeSesCredentials,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
  listAuditLog,
  completePasswordReset,
  createOwner,
  getSetup,
  requestPasswordReset,
  signInWithCode,
  signIn,
  signOut,
  undoEmailChange,
  createContact,
  deleteContact,
  exportContacts,
  getImport,
  getContact,
  importContacts,
  listContacts,
  updateContact,
  upsertContact,
  createDomain,
  deleteDomain,
  getDomainDnsZone,
  getDomain,
  listDomains,
  rotateDomainDkim,
  updateDomain,
  verifyDomain,
  exportEvents,
  listEvents,
  streamEvents,
  deleteInboundMessages,
  deleteInboundMessage,
  getInboundMessageAttachment,
  getInboundMessageRaw,
  getInboundMessage,
  listInboundMessages,
  simulateInboundMessage,
  acceptInvitation,
  createInvitationLink,
  createInvitation,
  inspectInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
  changePassword,
  confirmEmailChange,
  confirmTotp,
  deleteMe,
  endSession,
  endSessions,
  exportMe,
  getMe,
  listSessions,
  removeTotp,
  renewRecoveryCodes,
  requestEmailChange,
  restoreMe,
  startTotp,
  updateMe,
  listMembers,
  removeMember,
  updateMember,
  cancelMessage,
  exportMessages,
  getMessageContent,
  getMessageRaw,
  getMessage,
  listMessageAttempts,
  listMessages,
  rescheduleMessage,
  retryMessage,
  createOperatorKey,
  listOperatorKeys,
  revokeOperatorKey,
  addOperatorMember,
  createOperatorApiKey,
  createOperatorWorkspace,
  deleteOperatorWorkspace,
  exportOperatorWorkspace,
  getOperatorBrake,
  getOperatorMonthlyUsage,
  getOperatorQuotas,
  getOperatorStatus,
  getOperatorUsage,
  getOperatorWorkspace,
  inviteOperatorMember,
  listOperatorAuditLog,
  listOperatorMembers,
  listOperatorQueue,
  listOperatorWorkspaces,
  releaseOperatorBrake,
  removeOperatorMember,
  restoreOperatorWorkspace,
  resumeOperatorWorkspace,
  setOperatorBrake,
  setOperatorQuotas,
  suspendOperatorWorkspace,
  updateOperatorWorkspace,
  createPasskey,
  deletePasskey,
  listPasskeys,
  signInWithPasskey,
  startPasskey,
  startPasskeySignIn,
  updatePasskey,
  getRequest,
  listRequests,
  getLimits,
  getOpenapiJson,
  getOpenapi30Json,
  getOpenapiYaml,
  getSmtp,
  deleteSingleSignOn,
  getSignInOptions,
  getSingleSignOn,
  putSingleSignOn,
  getQueue,
  getUsage,
  getStats,
  listAlarms,
  createStream,
  deleteStream,
  getStream,
  listStreams,
  updateStream,
  createSuppressionsBulk,
  createSuppression,
  deleteSuppressionByEmail,
  deleteSuppression,
  exportSuppressions,
  getSuppression,
  listSuppressions,
  updateSuppression,
  checkTemplate,
  compareTemplateVersions,
  createTemplate,
  deleteTemplate,
  getTemplateSchema,
  getTemplateVersion,
  getTemplate,
  listTemplateDrafts,
  listTemplateVersions,
  listTemplates,
  publishTemplate,
  pushTemplateDrafts,
  renderTemplate,
  testSendTemplate,
  updateTemplate,
  clearTestInbox,
  deleteTestInboxMessage,
  getTestInboxMessage,
  listTestInbox,
  waitForTestMessage,
  checkTransactional,
  dryRunTransactional,
  sendBatch,
  sendBulk,
  sendRaw,
  sendTransactional,
  createWebhook,
  deleteWebhook,
  findWebhookDeliveries,
  findWebhookDelivery,
  getWebhookDelivery,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  createWorkspace,
  deleteWorkspace,
  leaveWorkspace,
  listWorkspaces,
  restoreWorkspace,
  updateWorkspace,
] as const;
