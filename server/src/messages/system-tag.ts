/**
 * Marks invitations, password resets and other mail of the service to its own users. It is not part of
 * what a workspace sends: lists leave it out, and statistics do not count it. Callers cannot choose
 * this tag, because the schema of a send refuses tags with this prefix.
 */
export const SYSTEM_TAG = 'postrider:system';
export const RESERVED_TAGS = '^postrider:';
