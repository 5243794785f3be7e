export {
  type FieldProblem,
  PostriderConnectionError,
  PostriderError,
  type Problem,
  WebhookVerificationError,
} from './errors.ts';
export type {
  Body,
  Item,
  ListPath,
  Method,
  Path,
  PathValues,
  PostriderEvent,
  Query,
  RequestOptions,
  RequestSettings,
  ResponseBody as Answer,
  Schema,
} from './operations.ts';
export {
  type EventPage,
  type FollowOptions,
  type Message,
  Postrider,
  type PostriderOptions,
  type SendBatchOptions,
  type StreamedEvent,
  type StreamOptions,
  type WaitOptions,
} from './postrider.ts';
export type { Time } from './time.ts';
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './verify-webhook.ts';
