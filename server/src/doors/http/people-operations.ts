import type { Clock } from '../../base/clock.ts';
import type { Operation } from './operation.ts';
import { acceptInvitation } from './operations/accept-invitation.ts';
import { changePassword } from './operations/change-password.ts';
import { completePasswordReset } from './operations/complete-password-reset.ts';
import { confirmTotp } from './operations/confirm-totp.ts';
import { createInvitation } from './operations/create-invitation.ts';
import { createOwner } from './operations/create-owner.ts';
import { createWorkspace } from './operations/create-workspace.ts';
import { endSession } from './operations/end-session.ts';
import { endSessions } from './operations/end-sessions.ts';
import { getMe } from './operations/get-me.ts';
import { getSetup } from './operations/get-setup.ts';
import { inspectInvitation } from './operations/inspect-invitation.ts';
import { leaveWorkspace } from './operations/leave-workspace.ts';
import { listInvitations } from './operations/list-invitations.ts';
import { listMembers } from './operations/list-members.ts';
import { listSessions } from './operations/list-sessions.ts';
import { listWorkspaces } from './operations/list-workspaces.ts';
import { removeMember } from './operations/remove-member.ts';
import { removeTotp } from './operations/remove-totp.ts';
import { renewRecoveryCodes } from './operations/renew-recovery-codes.ts';
import { requestPasswordReset } from './operations/request-password-reset.ts';
import { revokeInvitation } from './operations/revoke-invitation.ts';
import { signIn } from './operations/sign-in.ts';
import { signInWithCode } from './operations/sign-in-with-code.ts';
import { signOut } from './operations/sign-out.ts';
import type { PeopleOperationParts } from './operations/signed-in-reply.ts';
import { startTotp } from './operations/start-totp.ts';
import { updateMe } from './operations/update-me.ts';
import { updateMember } from './operations/update-member.ts';
import { updateWorkspace } from './operations/update-workspace.ts';

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
