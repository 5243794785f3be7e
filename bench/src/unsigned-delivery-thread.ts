import { runDeliveryThread } from '../../server/src/bootstrap/run-delivery-thread.ts';
import { withoutSigning } from './unsigned-transport.ts';

/** The entry point of a delivery thread that does not sign. */
runDeliveryThread({ liveTransport: (createConfigured) => withoutSigning(createConfigured()) });
