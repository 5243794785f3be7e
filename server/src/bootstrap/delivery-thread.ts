import { runDeliveryThread } from './run-delivery-thread.ts';

/** The entry point of the delivery thread. */
runDeliveryThread();
