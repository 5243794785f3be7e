/** There was no answer: the network failed, or the time was up. Whether it was done is not known. */
export class PostriderConnectionError extends Error {
  override readonly name = 'PostriderConnectionError';
}
