import type { Message, Transport } from '../../server/src/delivery/delivery.ts';

/**
 * Wraps the live transport for comparison with servers that do not sign: a message that already has
 * a signature, even an empty one, is not signed.
 */
export function withoutSigning(transport: Transport): Transport {
  return new Proxy(transport, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'attempt') {
        return (message: Message, ...others: AttemptArguments) => {
          message.signature = '';
          return target.attempt(message, ...others);
        };
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

type AttemptArguments =
  Parameters<Transport['attempt']> extends [Message, ...infer Rest] ? Rest : never;
