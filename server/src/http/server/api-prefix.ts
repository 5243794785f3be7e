/** Begins every path of our own API. */
export const API_PREFIX = '/api/v1';
