import type { Clock } from '../lib/clock.ts';
import type { Operation } from './operation.ts';
import { completePasswordReset } from './routes/auth/complete-password-reset.ts';
import { createOwner } from './routes/auth/create-owner.ts';
import { getSetup } from './routes/auth/get-setup.ts';
import { requestPasswordReset } from './routes/auth/request-password-reset.ts';
import { signIn } from './routes/auth/sign-in.ts';
import { signInWithCode } from './routes/auth/sign-in-with-code.ts';
import { signOut } from './routes/auth/sign-out.ts';
import type { PeopleOperationParts } from './routes/auth/session-response.ts';
import { acceptInvitation } from './routes/invitations/accept.ts';
import { createInvitation } from './routes/invitations/create.ts';
import { inspectInvitation } from './routes/invitations/inspect.ts';
import { listInvitations } from './routes/invitations/list.ts';
import { revokeInvitation } from './routes/invitations/revoke.ts';
import { changePassword } from './routes/me/change-password.ts';
import { confirmTotp } from './routes/me/confirm-totp.ts';
import { endSession } from './routes/me/end-session.ts';
import { endSessions } from './routes/me/end-sessions.ts';
import { getMe } from './routes/me/get.ts';
import { listSessions } from './routes/me/list-sessions.ts';
import { removeTotp } from './routes/me/remove-totp.ts';
import { renewRecoveryCodes } from './routes/me/renew-recovery-codes.ts';
import { startTotp } from './routes/me/start-totp.ts';
import { updateMe } from './routes/me/update.ts';
import { listMembers } from './routes/members/list.ts';
import { removeMember } from './routes/members/remove.ts';
import { updateMember } from './routes/members/update.ts';
import { createWorkspace } from './routes/workspaces/create.ts';
import { leaveWorkspace } from './routes/workspaces/leave.ts';
import { listWorkspaces } from './routes/workspaces/list.ts';
import { updateWorkspace } from './routes/workspaces/update.ts';

/** The part of the API that is for people and their sessions. */
export function peopleOperations(parts: PeopleOperationParts & { clock: Clock }): Operation[] {
  return [
    getSetup(parts),
    createOwner(parts),
    signIn(parts),
    signInWithCode(parts),
    signOut(parts),
    requestPasswordReset(parts),
    completePasswordReset(parts),
    inspectInvitation(parts),
    acceptInvitation(parts),
    getMe(parts),
    updateMe(parts),
    changePassword(parts),
    listSessions(parts),
    endSession(parts),
    endSessions(parts),
    startTotp(parts),
    confirmTotp(parts),
    renewRecoveryCodes(parts),
    removeTotp(parts),
    listWorkspaces(parts),
    createWorkspace(parts),
    updateWorkspace(parts),
    leaveWorkspace(parts),
    listMembers(parts),
    updateMember(parts),
    removeMember(parts),
    listInvitations(parts),
    createInvitation(parts),
    revokeInvitation(parts),
  ];
}
