/** Live mail leaves the house; test mail runs the same way and ends in the test inbox. */
export type Mode = 'live' | 'test';
