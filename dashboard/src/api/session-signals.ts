import { createStore } from '../lib/store.ts';

/** Set by an answer that no longer knows the session; the frame then asks to sign in again. */
export const sessionEnded = createStore(false);
