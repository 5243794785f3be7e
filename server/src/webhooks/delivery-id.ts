/**
 * A webhook delivery is one event for one endpoint, and its id is made of those two: the event's
 * UUID with its random end mixed with the endpoint's. So it is unique, sorts by time, needs neither
 * a column nor an index, and leads back to the event as soon as the endpoint is known: mixing twice
 * undoes it.
 */
export function mixIds(webhookId: string, eventOrDeliveryId: string): string {
  const tail = BigInt(`0x${webhookId.slice(24)}`) ^ BigInt(`0x${eventOrDeliveryId.slice(24)}`);
  return eventOrDeliveryId.slice(0, 24) + tail.toString(16).padStart(12, '0');
}
