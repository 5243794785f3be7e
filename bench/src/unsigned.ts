import type { Delivery, Message, Transport } from '../../server/src/delivery/delivery.ts';

/**
 * Put around the live route to compare with servers that do not sign: a message that carries a
 * signature already is not signed again, not even with an empty one.
 */
export function around(route: Transport): Transport {
  return new Proxy(route, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'attempt') {
        return (message: Message, deliveries: readonly Delivery[]) => {
          message.signature = '';
          return target.attempt(message, deliveries);
        };
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}
