/**
 * The reason for which mail of a workspace is held while it is on its way to another installation, or
 * while it is being purged. Never shown to anyone: callers compare it and answer "try again".
 */
export const MOVING_HOLD = 'It is being moved or deleted.';

/**
 * Why live mail of a row of `workspaces` is held, as SQL; null if it is not: the workspace is on its way
 * to another installation, the operator has suspended it, or it is scheduled for deletion.
 */
export const HELD_FOR = `case when purge_started_at is not null then '${MOVING_HOLD}'
  else coalesce(suspension_reason, case when delete_at is not null
    then 'It is scheduled for deletion. An owner can restore it.' end) end`;
