/**
 * The one table of what can go wrong for a client: code, status, title and what to do about it.
 * RFC 9457 answers, the OpenAPI document and /docs/errors are all made from it. `{app}` in a fix
 * stands for the address of the application.
 */

export interface ProblemType {
  status: number;
  title: string;
  /** What it means, for the reference. */
  meaning: string;
  fix: string;
}

const KEYS_PAGE = '{app}/app/api-keys';

export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    meaning: 'The body could not be parsed as JSON in UTF-8, or it is nested too deeply.',
    fix: 'Send valid JSON, encoded in UTF-8.',
  },
  malformed_request: {
    status: 400,
    title: 'The request is malformed',
    meaning: 'A header, or the request as a whole, does not follow HTTP or its own format.',
    fix: 'Correct what the detail names.',
  },
  missing_api_key: {
    status: 401,
    title: 'No API key was given',
    meaning: 'The request has no Authorization header with a Bearer key.',
    fix: `Send "Authorization: Bearer <API key>". Keys are made at ${KEYS_PAGE}.`,
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    meaning: 'The text is not an API key, its checksum is wrong, or no such key exists.',
    fix: `Check for a typo or a cut-off end, or create a key at ${KEYS_PAGE}.`,
  },
  expired_api_key: {
    status: 401,
    title: 'The API key has expired',
    meaning: 'The key, or this secret of a rotated key, is past its end.',
    fix: `Use the newer secret, or create a key at ${KEYS_PAGE}.`,
  },
  revoked_api_key: {
    status: 401,
    title: 'The API key was revoked',
    meaning: 'Somebody revoked this key. It will never work again.',
    fix: `Create a key at ${KEYS_PAGE}.`,
  },
  invalid_credentials: {
    status: 401,
    title: 'The sign-in is not right',
    meaning: 'The e-mail address, the password or the code is wrong.',
    fix: 'Try again, or set a new password at {app}/app/reset-password.',
  },
  invalid_session: {
    status: 401,
    title: 'The session has ended',
    meaning: 'The session ran out or was signed out, here or elsewhere.',
    fix: 'Sign in again at {app}/app.',
  },
  cross_site_request: {
    status: 403,
    title: 'The request does not come from the application',
    meaning: 'A request with a session must prove that no other site made it.',
    fix: 'Send the Postrider-Mode header, from the address of the application itself.',
  },
  not_a_member: {
    status: 403,
    title: 'You do not belong to this workspace',
    meaning: 'The workspace that Postrider-Workspace names does not exist, or you are not in it.',
    fix: 'Choose one of your workspaces: GET /api/v1/workspaces lists them.',
  },
  insufficient_role: {
    status: 403,
    title: 'Your role does not allow this',
    meaning: 'You are signed in, but your role in the workspace may not do this.',
    fix: 'Ask an owner of the workspace, listed at {app}/app/team.',
  },
  setup_link_required: {
    status: 403,
    title: 'The first account needs the link that was printed',
    meaning: 'Only from the machine itself is the first account made without the one-time link.',
    fix: 'Open the link that the server printed at its start.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a scope',
    meaning: 'The key is valid, but it may not do this.',
    fix: `Create a key with the scope that the detail names at ${KEYS_PAGE}.`,
  },
  ip_not_allowed: {
    status: 403,
    title: 'The API key may not be used from this address',
    meaning: 'The key is limited to networks, and the request came from outside them.',
    fix: `Call from an allowed network, or change allowed_ips of the key at ${KEYS_PAGE}.`,
  },
  workspace_suspended: {
    status: 403,
    title: 'The workspace is suspended',
    meaning: 'The operator of this server has stopped its live mail, and says why in the detail.',
    fix: 'Settle it with the operator. Test mode and everything that is no sending still work.',
  },
  domain_not_owned: {
    status: 403,
    title: 'The sender domain is not yours',
    meaning: 'The domain of the from address is not a sending domain of this workspace.',
    fix: 'Add the domain at {app}/app/domains and publish its records.',
  },
  domain_not_verified: {
    status: 403,
    title: 'The sender domain is not verified',
    meaning: 'The domain is yours, but its DNS records have not been found yet.',
    fix: 'See which record is missing at {app}/app/domains.',
  },
  domain_not_allowed: {
    status: 403,
    title: 'The API key may not send from this domain',
    meaning: 'The key is limited to some of the workspace’s domains.',
    fix: `Use another sender, or change allowed_domains of the key at ${KEYS_PAGE}.`,
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is nothing here, or nothing that whoever asks may see.',
    fix: 'Check the id, and that you ask in the mode (live or test) of the record: keys have one.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not take this method',
    meaning: 'The path exists, with other methods.',
    fix: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'The request was not complete before the deadline.',
    fix: 'Send the whole request without long pauses.',
  },
  conflict: {
    status: 409,
    title: 'The state of the record does not allow this',
    meaning: 'What you ask for does not fit what the record is now.',
    fix: 'Read the record again and decide anew.',
  },
  last_owner: {
    status: 409,
    title: 'A workspace needs an owner',
    meaning: 'This is its only owner, who cannot leave or be made less.',
    fix: 'Make somebody else an owner first.',
  },
  sign_in_first: {
    status: 409,
    title: 'The address has an account',
    meaning: 'An invitation to an address with an account is accepted by that account.',
    fix: 'Sign in as the invited address, then accept.',
  },
  idempotency_key_in_progress: {
    status: 409,
    title: 'The first request with this key is still running',
    meaning: 'A request with the same Idempotency-Key has not been answered yet.',
    fix: 'Wait a moment and repeat the request.',
  },
  not_cancellable: {
    status: 409,
    title: 'The message can no longer be cancelled',
    meaning: 'It is final already, or on the wire at this moment.',
    fix: 'Nothing can be done: look at the message to see what became of it.',
  },
  not_retryable: {
    status: 409,
    title: 'There is nothing to retry',
    meaning: 'Only deferred, bounced, failed and expired deliveries can be tried again.',
    fix: 'Look at the state of the message’s recipients.',
  },
  draft_changed: {
    status: 412,
    title: 'The draft was changed meanwhile',
    meaning: 'The draft is not in the state that If-Match names: somebody else changed it.',
    fix: 'Read it again, join your change with theirs, and send it with the new etag.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'The request body is larger than the server takes.',
    fix: 'Send less: GET /api/v1/limits tells how much is taken.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body’s media type is not taken here',
    meaning: 'Bodies are JSON unless the operation says otherwise.',
    fix: 'Send "Content-Type: application/json".',
  },
  validation_failed: {
    status: 422,
    title: 'Some fields are not valid',
    meaning: 'The body or the query does not follow its rules; `errors` names every field.',
    fix: 'Correct the fields named in errors.',
  },
  invalid_link: {
    status: 422,
    title: 'The link is not good any more',
    meaning: 'It was used, was revoked, has run out, or never was.',
    fix: 'Ask for a new one.',
  },
  missing_variables: {
    status: 422,
    title: 'Placeholders have no value',
    meaning: 'Some placeholders have neither a value nor a default. Nothing was accepted.',
    fix: 'Give a value for each path in errors, or a default: {{ name | default: "there" }}.',
  },
  template_not_found: {
    status: 422,
    title: 'There is no such template',
    meaning: 'The template, or the version asked for, does not exist or is not published.',
    fix: 'Check template_key and template_version, and that the template is published.',
  },
  template_syntax: {
    status: 422,
    title: 'The content is not a valid template',
    meaning: 'A placeholder or tag is malformed; `errors` tells the line and column.',
    fix: 'Correct the place that errors names. \\${ and {% raw %} give literal text.',
  },
  template_limit: {
    status: 422,
    title: 'Rendering went over a limit',
    meaning: 'The content takes too long, loops too often, or becomes too large.',
    fix: 'Make the template simpler or the lists shorter.',
  },
  content_conflict: {
    status: 422,
    title: 'Inline content and a template were both given',
    meaning: 'A message is made either from subject and html, or from a template.',
    fix: 'Leave out either subject, html, text and variables, or the template_ fields.',
  },
  content_missing: {
    status: 422,
    title: 'The message has no content',
    meaning: 'Neither subject and html nor a template were given.',
    fix: 'Give subject and html, or template_key.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    meaning: 'The key was used within 24 hours with a different body.',
    fix: 'Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'The workspace sends requests faster than its limit.',
    fix: 'Wait as Retry-After says. The RateLimit header tells what is left.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    meaning: 'Passwords and codes can be tried only so often, by account and by source.',
    fix: 'Wait as Retry-After says.',
  },
  quota_exceeded: {
    status: 429,
    title: 'A quota is used up',
    meaning: 'The workspace has used what its operator allows.',
    fix: 'Ask the operator, or wait as Retry-After says.',
  },
  internal_error: {
    status: 500,
    title: 'Something broke on our side',
    meaning: 'The fault is ours. The log has the details under the request_id.',
    fix: 'Repeat the request with the same Idempotency-Key; if it stays, tell the operator the request_id.',
  },
  overloaded: {
    status: 503,
    title: 'The server is busy',
    meaning: 'More is waiting than can be held. Nothing was accepted.',
    fix: 'Repeat the request as Retry-After says.',
  },
  storage_unavailable: {
    status: 503,
    title: 'The database cannot be reached',
    meaning: 'Nothing was accepted. It recovers by itself when the database is back.',
    fix: 'Repeat the request as Retry-After says, with the same Idempotency-Key.',
  },
} as const satisfies Record<string, ProblemType>;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}
