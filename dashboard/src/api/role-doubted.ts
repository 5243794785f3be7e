import { createStore } from '../lib/store.ts';

/** Counts the answers that were refused for the person's role: it is another than the page believes. */
export const roleRefusals = createStore(0);
