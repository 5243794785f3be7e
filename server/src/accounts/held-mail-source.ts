/**
 * Why live mail of a row of `workspaces` is held, as SQL; null if it is not: the operator has suspended
 * the workspace, or it is scheduled for deletion.
 */
export const HELD_FOR = `coalesce(suspension_reason, case when delete_at is not null
  then 'It is scheduled for deletion. An owner can restore it.' end)`;
