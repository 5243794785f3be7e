import type { Command } from './command.ts';
import { backup } from './commands/backup.ts';
import { doctor } from './commands/doctor.ts';
import { domainsAdd } from './commands/domains-add.ts';
import { domainsList } from './commands/domains-list.ts';
import { domainsReceive } from './commands/domains-receive.ts';
import { domainsVerify } from './commands/domains-verify.ts';
import { eventsTail } from './commands/events-tail.ts';
import { keysCreate } from './commands/keys-create.ts';
import { keysList } from './commands/keys-list.ts';
import { keysRevoke } from './commands/keys-revoke.ts';
import { keysRotate } from './commands/keys-rotate.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { messagesList } from './commands/messages-list.ts';
import { messagesShow } from './commands/messages-show.ts';
import { operatorKeysCreate } from './commands/operator-keys-create.ts';
import { operatorKeysList } from './commands/operator-keys-list.ts';
import { operatorKeysRevoke } from './commands/operator-keys-revoke.ts';
import { peopleAddInstanceOwner } from './commands/people-add-instance-owner.ts';
import { peopleList } from './commands/people-list.ts';
import { peopleRemoveInstanceOwner } from './commands/people-remove-instance-owner.ts';
import { peopleRemoveSecondFactor } from './commands/people-remove-second-factor.ts';
import { peopleResetPassword } from './commands/people-reset-password.ts';
import { queue } from './commands/queue.ts';
import { router } from './commands/router.ts';
import { send } from './commands/send.ts';
import { start } from './commands/start.ts';
import { streamsCreate } from './commands/streams-create.ts';
import { streamsList } from './commands/streams-list.ts';
import { suppressionsReview } from './commands/suppressions-review.ts';
import { templatesDiff } from './commands/templates-diff.ts';
import { templatesPull } from './commands/templates-pull.ts';
import { templatesPush } from './commands/templates-push.ts';
import { webhooksListen } from './commands/webhooks-listen.ts';
import { whoami } from './commands/whoami.ts';
import { workspacesAddOwner } from './commands/workspaces-add-owner.ts';
import { workspacesCreate } from './commands/workspaces-create.ts';
import { workspacesDelete } from './commands/workspaces-delete.ts';
import { workspacesDeletions } from './commands/workspaces-deletions.ts';
import { workspacesList } from './commands/workspaces-list.ts';
import { workspacesMove } from './commands/workspaces-move.ts';
import { workspacesRestore } from './commands/workspaces-restore.ts';
import { workspacesResume } from './commands/workspaces-resume.ts';
import { workspacesSuspend } from './commands/workspaces-suspend.ts';

/** All commands, in the order of the help text. */
export const COMMANDS: readonly Command[] = [
  start,
  router,
  doctor,
  backup,
  queue,
  login,
  logout,
  whoami,
  workspacesCreate,
  workspacesAddOwner,
  workspacesList,
  workspacesSuspend,
  workspacesResume,
  workspacesDelete,
  workspacesRestore,
  workspacesDeletions,
  workspacesMove,
  operatorKeysCreate,
  operatorKeysList,
  operatorKeysRevoke,
  peopleList,
  peopleResetPassword,
  peopleRemoveSecondFactor,
  peopleAddInstanceOwner,
  peopleRemoveInstanceOwner,
  keysCreate,
  keysList,
  keysRotate,
  keysRevoke,
  domainsAdd,
  domainsVerify,
  domainsReceive,
  domainsList,
  streamsCreate,
  streamsList,
  suppressionsReview,
  templatesPull,
  templatesPush,
  templatesDiff,
  send,
  messagesList,
  messagesShow,
  eventsTail,
  webhooksListen,
];
