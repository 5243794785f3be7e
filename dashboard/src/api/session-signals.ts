import { createStore } from '../lib/store.ts';

/** Set when a response says that the session has ended; the layout then shows the sign-in dialog. */
export const sessionEnded = createStore(false);

/** Counts requests refused because of the user's role, which means the role has changed. */
export const roleRefusals = createStore(0);
