/**
 * The table of all problems: code, status, title and fix. Error responses (RFC 9457), the
 * OpenAPI document and the pages under /docs/errors are made from it. `{app}` in a fix is
 * replaced by the base URL of the application.
 */

export interface ProblemType {
  status: number;
  title: string;
  /** Explanation for the reference. */
  meaning: string;
  fix: string;
}

const KEYS_PAGE = '{app}/app/api-keys';

export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    meaning: 'The body could not be parsed as UTF-8 JSON, or it is nested too deeply.',
    fix: 'Send valid JSON encoded in UTF-8.',
  },
  malformed_request: {
    status: 400,
    title: 'The request is malformed',
    meaning: 'A header or the request as a whole is malformed.',
    fix: 'Correct what the detail names.',
  },
  missing_api_key: {
    status: 401,
    title: 'The API key is missing',
    meaning: 'The request has no Authorization header with a Bearer key.',
    fix: `Send "Authorization: Bearer <API key>". Create a key at ${KEYS_PAGE}.`,
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is invalid',
    meaning: 'The value is not an API key, its checksum is wrong, or the key does not exist.',
    fix: `Check for a typo or a truncated key, or create a key at ${KEYS_PAGE}.`,
  },
  invalid_signature: {
    status: 401,
    title: 'The signature is invalid',
    meaning:
      'The request is signed, as in the API of Amazon SES, but with another secret, for another request, or at another time.',
    fix: 'Check the secret access key and the clock, and that no proxy changes the request.',
  },
  expired_api_key: {
    status: 401,
    title: 'The API key has expired',
    meaning: 'The key, or this secret of a rotated key, has expired.',
    fix: `Use the newer secret, or create a key at ${KEYS_PAGE}.`,
  },
  revoked_api_key: {
    status: 401,
    title: 'The API key was revoked',
    meaning: 'This key was revoked. It will never work again.',
    fix: `Create a key at ${KEYS_PAGE}.`,
  },
  invalid_credentials: {
    status: 401,
    title: 'The credentials are wrong',
    meaning: 'The email address, the password or the code is wrong.',
    fix: 'Try again, or reset your password at {app}/app/reset-password.',
  },
  invalid_session: {
    status: 401,
    title: 'The session has ended',
    meaning: 'The session expired or was signed out, here or elsewhere.',
    fix: 'Sign in again at {app}/app.',
  },
  cross_site_request: {
    status: 403,
    title: 'The request was sent from another site',
    meaning: 'Requests with a session must prove that no other site sent them.',
    fix: 'Send the Postrider-Mode header, and send the request from the application itself.',
  },
  not_a_member: {
    status: 403,
    title: 'You are not a member of this workspace',
    meaning:
      'The workspace named by Postrider-Workspace does not exist, or you are not a member of it.',
    fix: 'Choose one of your workspaces. GET /api/v1/workspaces lists them.',
  },
  single_sign_on_required: {
    status: 403,
    title: 'The workspace requires single sign-on',
    meaning:
      'Members of this workspace must sign in with its identity provider. Owners can also use their password.',
    fix: 'Sign in with the identity provider of the workspace.',
  },
  limited_session: {
    status: 403,
    title: 'The session is limited to one workspace',
    meaning:
      'The identity provider of a workspace has started this session. It can use that workspace, but not change the account or use other workspaces.',
    fix: 'Sign in with your password at {app}/app/sign-in. A password reset sets one if you have none.',
  },
  single_sign_on_failed: {
    status: 422,
    title: 'The identity provider cannot be used',
    meaning:
      'Its configuration could not be read from the issuer, or it lacks something that sign-in needs. Nothing was changed.',
    fix: 'Check the issuer: its /.well-known/openid-configuration must be reachable from this server.',
  },
  insufficient_role: {
    status: 403,
    title: 'Your role does not allow this',
    meaning: 'You are signed in, but your role in the workspace does not permit this operation.',
    fix: 'Ask an owner of the workspace. {app}/app/team lists them.',
  },
  setup_link_required: {
    status: 403,
    title: 'The setup link is required',
    meaning:
      'Unless you are on the server itself, the first account can only be created with the one-time setup link.',
    fix: 'Open the link that the server printed at startup.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a scope',
    meaning: 'The key is valid, but its scopes do not permit this operation.',
    fix: `Create a key with the scope named in the detail at ${KEYS_PAGE}.`,
  },
  operator_key_required: {
    status: 403,
    title: 'An operator key is required',
    meaning:
      'Operations under /operator manage all workspaces of the server. API keys and sessions belong to workspaces and can never use them.',
    fix: 'Use an operator key, which the operator creates with "postrider operator-keys create".',
  },
  wrong_mode: {
    status: 403,
    title: 'Not available in this mode',
    meaning:
      'Test keys cannot change what live mail uses, and the test inbox exists in test mode only. No scope changes this.',
    fix: 'Use a live key (pr_live_…), or make the change at {app}/app.',
  },
  ip_not_allowed: {
    status: 403,
    title: 'The API key cannot be used from this IP address',
    meaning: 'The key is restricted to certain networks, and the request came from outside them.',
    fix: `Call from an allowed network, or change the key’s allowed_ips at ${KEYS_PAGE}.`,
  },
  workspace_moved: {
    status: 403,
    title: 'The workspace has moved',
    meaning:
      'The operator has moved the workspace to another server. `moved_to` is its URL, if it is known.',
    fix: 'Send requests to the new server. API keys stay the same. Ask the operator for its URL.',
  },
  workspace_suspended: {
    status: 403,
    title: 'The workspace is suspended',
    meaning:
      'The operator of this server has suspended live sending, or the workspace is scheduled for deletion. The detail gives the reason.',
    fix: 'Contact the operator, or restore the workspace at {app}/app/settings?tab=workspace. Test mode and all non-sending operations still work.',
  },
  domain_not_owned: {
    status: 403,
    title: 'The sender domain is not in this workspace',
    meaning: 'The domain of the from address is not a sending domain of this workspace.',
    fix: 'Add the domain at {app}/app/domains and publish its DNS records.',
  },
  domain_not_verified: {
    status: 403,
    title: 'The sender domain is not verified',
    meaning: 'The domain belongs to this workspace, but its DNS records have not been found yet.',
    fix: 'Check which record is missing at {app}/app/domains.',
  },
  domain_not_allowed: {
    status: 403,
    title: 'The API key cannot send from this domain',
    meaning: 'The key is restricted to some of the workspace’s domains.',
    fix: `Use another sender, or change the key’s allowed_domains at ${KEYS_PAGE}.`,
  },
  stream_not_allowed: {
    status: 403,
    title: 'The API key cannot send in this stream',
    meaning: 'The key is restricted to some of the workspace’s streams.',
    fix: `Use another stream, or change the key’s allowed_streams at ${KEYS_PAGE}.`,
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'The resource does not exist, or you cannot access it.',
    fix: 'Check the id, and that you use the mode (live or test) of the resource. Each API key has one mode.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed',
    meaning: 'The path exists, but does not accept this method.',
    fix: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request timed out',
    meaning: 'The request was not complete before the timeout.',
    fix: 'Send the whole request without long pauses.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the current state',
    meaning: 'The current state of the resource does not allow this operation.',
    fix: 'Retrieve the resource again, then decide how to proceed.',
  },
  last_workspace: {
    status: 409,
    title: 'This is the last workspace',
    meaning: 'A server has at least one workspace, so its last one cannot be deleted.',
    fix: 'Create another workspace first.',
  },
  last_owner: {
    status: 409,
    title: 'A workspace needs an owner',
    meaning: 'The last owner cannot leave the workspace or be demoted.',
    fix: 'Make another member an owner first.',
  },
  sign_in_first: {
    status: 409,
    title: 'The address already has an account',
    meaning: 'An invitation to an address with an account must be accepted by that account.',
    fix: 'Sign in with the invited address, then accept.',
  },
  email_unverified: {
    status: 409,
    title: 'The address of the account is not verified',
    meaning:
      'The account may have been created by someone who does not receive the mail of its address.',
    fix: 'Verify the address in the settings of the account, or reset the password by email.',
  },
  idempotency_key_in_progress: {
    status: 409,
    title: 'The first request with this key is still in progress',
    meaning: 'A request with the same Idempotency-Key has not completed yet.',
    fix: 'Wait a moment and retry the request.',
  },
  message_id_in_use: {
    status: 409,
    title: 'The Message-ID is already in use',
    meaning: 'A Message-ID identifies one message. Another message of the workspace has this one.',
    fix: 'Use a new Message-ID, or omit it to have one generated.',
  },
  not_cancellable: {
    status: 409,
    title: 'The message can no longer be cancelled',
    meaning:
      'Every recipient is already in a final state, or the message is being delivered right now.',
    fix: 'Retrieve the message to see its outcome.',
  },
  not_retryable: {
    status: 409,
    title: 'There is nothing to retry',
    meaning: 'Only deferred, bounced, failed and expired deliveries can be retried.',
    fix: 'Check the status of the message’s recipients.',
  },
  draft_changed: {
    status: 412,
    title: 'The draft has changed',
    meaning:
      'The draft is no longer in the state named by If-Match, because someone else changed it.',
    fix: 'Retrieve it again, merge your change, and send it with the new etag.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'The request body exceeds the maximum size.',
    fix: 'Send a smaller body. GET /api/v1/limits returns the maximum.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type is not supported',
    meaning: 'Bodies are JSON unless the operation says otherwise.',
    fix: 'Send "Content-Type: application/json".',
  },
  expectation_failed: {
    status: 417,
    title: 'The expectation cannot be met',
    meaning: 'The Expect header has a value other than 100-continue.',
    fix: 'Remove the Expect header, or send "Expect: 100-continue".',
  },
  validation_failed: {
    status: 422,
    title: 'Some fields are invalid',
    meaning: 'The body or the query is invalid. `errors` lists every field.',
    fix: 'Correct the fields listed in errors.',
  },
  invalid_link: {
    status: 422,
    title: 'The link is no longer valid',
    meaning: 'It was already used, was revoked, has expired, or never existed.',
    fix: 'Request a new link.',
  },
  missing_variables: {
    status: 422,
    title: 'Some placeholders have no value',
    meaning: 'Some placeholders have neither a value nor a default. Nothing was accepted.',
    fix: 'Provide a value for each path in errors, or a default: {{ name | default: "there" }}.',
  },
  template_not_found: {
    status: 422,
    title: 'The template does not exist',
    meaning: 'The template or the requested version does not exist or is not published.',
    fix: 'Check template_key and template_version, and that the template is published.',
  },
  stream_not_found: {
    status: 422,
    title: 'The stream does not exist',
    meaning: 'The workspace has no stream with this key.',
    fix: 'Create it at {app}/app/streams, or use another one.',
  },
  template_syntax: {
    status: 422,
    title: 'The content is not a valid template',
    meaning: 'A placeholder or tag is malformed. `errors` gives the line and column.',
    fix: 'Correct the template at that position. Use \\${ or {% raw %} for literal text.',
  },
  template_limit: {
    status: 422,
    title: 'Rendering exceeded a limit',
    meaning: 'Rendering takes too long, loops too often, or produces too much output.',
    fix: 'Simplify the template or shorten the lists.',
  },
  content_conflict: {
    status: 422,
    title: 'Both inline content and a template were given',
    meaning:
      'A message is created either from inline content (subject, html, text) or from a template.',
    fix: 'Omit either subject, html, text and variables, or the template_ fields.',
  },
  content_missing: {
    status: 422,
    title: 'The message has no content',
    meaning:
      'Neither a template nor a subject with html or text was given, or html and text are empty and there are no attachments.',
    fix: 'Provide subject and html or text (or both), or template_key.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    meaning: 'The key was used within the last 24 hours with a different body.',
    fix: 'Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'The workspace exceeded its rate limit.',
    fix: 'Retry after the time in Retry-After. The RateLimit header shows what is left.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    meaning:
      'Passwords and codes can only be tried a limited number of times per account and per source.',
    fix: 'Retry after the time in Retry-After.',
  },
  quota_exceeded: {
    status: 429,
    title: 'A quota is exhausted',
    meaning: 'The workspace has used up what the operator allows.',
    fix: 'Contact the operator, or retry after the time in Retry-After.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The server failed. Details are in the log under the request_id.',
    fix: 'Retry with the same Idempotency-Key. If the error persists, report the request_id to the operator.',
  },
  unsupported_transfer_encoding: {
    status: 501,
    title: 'The transfer encoding is not supported',
    meaning: 'The body was sent with a transfer coding other than chunked.',
    fix: 'Send the body without Transfer-Encoding, or with "Transfer-Encoding: chunked" alone.',
  },
  overloaded: {
    status: 503,
    title: 'The server is overloaded',
    meaning: 'The server’s queues are full. Nothing was accepted.',
    fix: 'Retry after the time in Retry-After.',
  },
  storage_unavailable: {
    status: 503,
    title: 'Storage is unavailable',
    meaning:
      'The database or the content archive cannot be reached, or the workspace is being moved to another server. Nothing was accepted. The server recovers automatically.',
    fix: 'Retry after the time in Retry-After with the same Idempotency-Key.',
  },
} as const satisfies Record<string, ProblemType>;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}
