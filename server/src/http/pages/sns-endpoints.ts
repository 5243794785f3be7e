import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  certificateKeyId,
  keyIdOfToken,
  SNS_PATH,
  subscriptionArn,
} from '../../webhooks/formats/ses-sns.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/**
 * What receivers of webhooks in the format `ses-sns` fetch: the certificate named in a message, and
 * the URL that confirms a subscription. Both are public, as they are at Amazon. A confirmation
 * changes nothing: the owner of the endpoint has asked for the events.
 */
export function registerSnsEndpoints(server: FastifyInstance, deps: { webhooks: Webhooks }): void {
  const { webhooks } = deps;
  server.get<{ Params: { file: string } }>(`${SNS_PATH}:file`, async (request, reply) => {
    const keyId = certificateKeyId(request.params.file);
    const found = keyId && (await webhooks.findCertificate(keyId));
    if (!found) return notFound(reply, 'There is no such certificate.');
    return reply
      .headers({ ...HEADERS, 'cache-control': 'public, max-age=86400, immutable' })
      .type('application/x-pem-file')
      .send(found.certificate);
  });
  server.get<{ Querystring: { Token?: unknown } }>(SNS_PATH, async (request, reply) => {
    const keyId = keyIdOfToken(String(request.query.Token ?? ''));
    const found = keyId && (await webhooks.findCertificate(keyId));
    if (!found) return notFound(reply, 'There is no subscription with this token.');
    return reply
      .headers({ ...HEADERS, 'cache-control': 'no-store' })
      .type('text/xml; charset=utf-8')
      .send(confirmation(subscriptionArn(found.webhookId), request.id));
  });
}

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'content-security-policy': "default-src 'none'",
};

function notFound(reply: FastifyReply, text: string): FastifyReply {
  return reply.code(404).headers(HEADERS).type('text/plain; charset=utf-8').send(`${text}\n`);
}

function confirmation(arn: string, requestId: string): string {
  return (
    '<ConfirmSubscriptionResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">' +
    `<ConfirmSubscriptionResult><SubscriptionArn>${arn}</SubscriptionArn></ConfirmSubscriptionResult>` +
    `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata>` +
    '</ConfirmSubscriptionResponse>\n'
  );
}
