/** Begins the path of the page where recipients leave a stream. Its links are not tracked. */
export const UNSUBSCRIBE_PATH = '/u/';
