/**
 * Marks invitations, password resets and other mail of the service to its own users. It is not part of
 * what a workspace sends: lists leave it out, and statistics do not count it. Callers cannot choose
 * this tag, because the tags of a send contain no colon.
 */
export const SYSTEM_TAG = 'postrider:system';
