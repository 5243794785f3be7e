import { runDeliveryThread } from '../../../src/bootstrap/run-delivery-thread.ts';

/** A delivery thread with a bug that no attempt catches: it crashes on the first live message. */
runDeliveryThread({
  liveTransport: (createConfigured) => {
    const transport = createConfigured();
    transport.attempt = () => {
      setImmediate(() => {
        throw new Error('A bug for this test.');
      });
      return new Promise(() => {});
    };
    return transport;
  },
});
