/**
 * Storage cannot be brought up, and only the operator can change that. The message is a whole
 * sentence that says what is wrong and what to do: it is printed as it stands, without a stack.
 */
export class StorageStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StorageStartError';
  }
}
