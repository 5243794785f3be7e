import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UNSUBSCRIBE_PATH } from '../../messages/unsubscribe-path.ts';
import type { Unsubscribes } from '../../unsubscribe/unsubscribes.ts';
import { invalidLinkPage, type PageAction, subscriptionPage } from './unsubscribe-page.ts';
import { chooseLanguage } from './unsubscribe-texts.ts';

/**
 * Where recipients leave a stream. A GET only shows a page, because scanners and previews follow links.
 * A POST unsubscribes: from the page, or from an email client that sends `List-Unsubscribe=One-Click`
 * (RFC 8058). Both need nothing but the link, and repeating them changes nothing.
 */
export function registerUnsubscribeEndpoints(
  server: FastifyInstance,
  { unsubscribes }: { unsubscribes: Unsubscribes },
): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.get<Link>(PATH, (request, reply) => sendPage(unsubscribes, request, reply));
    scope.post<Link>(PATH, async (request, reply) => {
      const { token } = request.params;
      const text = Buffer.isBuffer(request.body) ? request.body.toString() : '';
      // Email clients send a form of either encoding, with this field only.
      if (/List-Unsubscribe/i.test(text) && /One-Click/i.test(text)) {
        const isOurs = await unsubscribes.unsubscribe(token, 'one_click');
        if (isOurs) return reply.code(200).headers(HEADERS).send();
        return sendPage(unsubscribes, request, reply);
      }
      const action = await submit(unsubscribes, token, new URLSearchParams(text));
      return sendPage(unsubscribes, request, reply, action);
    });
  });
}

type Link = { Params: { token: string } };

const PATH = `${UNSUBSCRIBE_PATH}:token`;
/** A form names each of up to 100 streams twice. */
const BODY_BYTES_MAX = 32 * 1024;

const HEADERS = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src https:; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
};

/** A POST without one of our forms comes from an older email client, and means to leave. */
async function submit(
  unsubscribes: Unsubscribes,
  token: string,
  form: URLSearchParams,
): Promise<PageAction> {
  switch (form.get('action')) {
    case 'resubscribe':
      await unsubscribes.resubscribe(token);
      return 'resubscribe';
    case 'choose':
      await unsubscribes.choose(token, form.getAll('shown'), form.getAll('chosen'));
      return 'choose';
    default:
      await unsubscribes.unsubscribe(token, 'page');
      return 'unsubscribe';
  }
}

async function sendPage(
  unsubscribes: Unsubscribes,
  request: FastifyRequest<Link>,
  reply: FastifyReply,
  action?: PageAction,
): Promise<FastifyReply> {
  const view = await unsubscribes.view(request.params.token);
  const options = chooseLanguage(view?.locale ?? null, request.headers['accept-language']);
  return reply
    .code(view ? 200 : 404)
    .headers({ ...HEADERS, 'content-language': options.language, vary: 'accept-language' })
    .type('text/html; charset=utf-8')
    .send(view ? subscriptionPage(view, options, action) : invalidLinkPage(options));
}
