/** The package has no types of its own. */
declare module 'sns-validator' {
  export default class MessageValidator {
    constructor(hostPattern?: RegExp, encoding?: string);
    validate(
      message: string | object,
      callback: (error: Error | null, message?: Record<string, string>) => void,
    ): void;
  }
}
