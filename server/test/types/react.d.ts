/**
 * What client libraries under test name of React. React's own types would declare the browser's
 * classes as empty for all tests.
 */
export type ReactNode = unknown;
export type ReactElement = unknown;
