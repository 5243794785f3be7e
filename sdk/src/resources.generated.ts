// Generated from the OpenAPI document by `npm run generate`. Do not edit.
import type { Body, Item, PathValues, Query, RequestSettings, ResponseBody } from './operations.ts';
import type { Caller } from './resource-caller.ts';

export type Resources = ReturnType<typeof createResources>;

export function createResources(caller: Caller) {
  return {
    transactional: {
      /** Send a MIME message: `POST /transactional/raw`. */
      sendRaw: (body: Body<'POST', '/transactional/raw'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/raw'>> => caller.request('POST', '/transactional/raw', { ...options, body }),

      /** Send one content to many recipients: `POST /transactional/bulk`. */
      sendBulk: (body: Body<'POST', '/transactional/bulk'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/bulk'>> => caller.request('POST', '/transactional/bulk', { ...options, body }),

      /** Send a message: `POST /transactional/send`. */
      send: (body: Body<'POST', '/transactional/send'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/send'>> => caller.request('POST', '/transactional/send', { ...options, body }),

      /** Send a batch of messages: `POST /transactional/batch`. */
      sendBatch: (body: Body<'POST', '/transactional/batch'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/batch'>> => caller.request('POST', '/transactional/batch', { ...options, body }),

      /** Check inline content: `POST /transactional/check`. */
      check: (body: Body<'POST', '/transactional/check'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/check'>> => caller.request('POST', '/transactional/check', { ...options, body }),

      /** Validate and render a message: `POST /transactional/dry-run`. */
      dryRun: (body: Body<'POST', '/transactional/dry-run'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/transactional/dry-run'>> => caller.request('POST', '/transactional/dry-run', { ...options, body }),
    },
    messages: {
      /** List messages: `GET /messages`. */
      list: (query: Query<'GET', '/messages'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/messages'>, void, undefined> => caller.all('/messages', { ...options, query }),

      /** Retrieve a message: `GET /messages/{id}`. */
      get: (id: PathValues<'GET', '/messages/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/messages/{id}'>> => caller.request('GET', '/messages/{id}', { ...options, path: { id } }),

      /** Reschedule a message: `PATCH /messages/{id}`. */
      reschedule: (id: PathValues<'PATCH', '/messages/{id}'>['id'], body: Body<'PATCH', '/messages/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/messages/{id}'>> => caller.request('PATCH', '/messages/{id}', { ...options, path: { id }, body }),

      /** Export messages: `GET /messages/export`. */
      export: (query: Query<'GET', '/messages/export'> = {}, options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/messages/export', { ...options, query }),

      /** Download a message as .eml: `GET /messages/{id}/raw`. */
      getRaw: (id: PathValues<'GET', '/messages/{id}/raw'>['id'], options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/messages/{id}/raw', { ...options, path: { id } }),

      /** Retry a message: `POST /messages/{id}/retry`. */
      retry: (id: PathValues<'POST', '/messages/{id}/retry'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/messages/{id}/retry'>> => caller.request('POST', '/messages/{id}/retry', { ...options, path: { id } }),

      /** Cancel a message: `POST /messages/{id}/cancel`. */
      cancel: (id: PathValues<'POST', '/messages/{id}/cancel'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/messages/{id}/cancel'>> => caller.request('POST', '/messages/{id}/cancel', { ...options, path: { id } }),

      /** Retrieve a message’s content: `GET /messages/{id}/content`. */
      getContent: (id: PathValues<'GET', '/messages/{id}/content'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/messages/{id}/content'>> => caller.request('GET', '/messages/{id}/content', { ...options, path: { id } }),

      /** List delivery attempts: `GET /messages/{id}/attempts`. */
      listAttempts: (id: PathValues<'GET', '/messages/{id}/attempts'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/messages/{id}/attempts'>> => caller.request('GET', '/messages/{id}/attempts', { ...options, path: { id } }),
    },
    queue: {
      /** Retrieve the queue: `GET /queue`. */
      get: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/queue'>> => caller.request('GET', '/queue', { ...options }),
    },
    stats: {
      /** Retrieve statistics: `GET /stats`. */
      get: (query: Query<'GET', '/stats'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'GET', '/stats'>> => caller.request('GET', '/stats', { ...options, query }),
    },
    inboundMessages: {
      /** List inbound messages: `GET /inbound-messages`. */
      list: (query: Query<'GET', '/inbound-messages'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/inbound-messages'>, void, undefined> => caller.all('/inbound-messages', { ...options, query }),

      /** Delete inbound messages: `DELETE /inbound-messages`. */
      deleteMany: (query: Query<'DELETE', '/inbound-messages'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/inbound-messages'>> => caller.request('DELETE', '/inbound-messages', { ...options, query }),

      /** Retrieve an inbound message: `GET /inbound-messages/{id}`. */
      get: (id: PathValues<'GET', '/inbound-messages/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/inbound-messages/{id}'>> => caller.request('GET', '/inbound-messages/{id}', { ...options, path: { id } }),

      /** Delete an inbound message: `DELETE /inbound-messages/{id}`. */
      delete: (id: PathValues<'DELETE', '/inbound-messages/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/inbound-messages/{id}'>> => caller.request('DELETE', '/inbound-messages/{id}', { ...options, path: { id } }),

      /** Simulate an inbound message: `POST /inbound-messages/simulate`. */
      simulate: (body: Body<'POST', '/inbound-messages/simulate'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/inbound-messages/simulate'>> => caller.request('POST', '/inbound-messages/simulate', { ...options, body }),

      /** Download an inbound message as .eml: `GET /inbound-messages/{id}/raw`. */
      getRaw: (id: PathValues<'GET', '/inbound-messages/{id}/raw'>['id'], options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/inbound-messages/{id}/raw', { ...options, path: { id } }),

      /** Download an attachment of an inbound message: `GET /inbound-messages/{id}/attachments/{index}`. */
      getAttachment: (id: PathValues<'GET', '/inbound-messages/{id}/attachments/{index}'>['id'], index: PathValues<'GET', '/inbound-messages/{id}/attachments/{index}'>['index'], options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/inbound-messages/{id}/attachments/{index}', { ...options, path: { id, index } }),
    },
    testInbox: {
      /** List test messages: `GET /test/inbox`. */
      list: (query: Query<'GET', '/test/inbox'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/test/inbox'>, void, undefined> => caller.all('/test/inbox', { ...options, query }),

      /** Clear the test inbox: `DELETE /test/inbox`. */
      clear: (options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/test/inbox'>> => caller.request('DELETE', '/test/inbox', { ...options }),

      /** Retrieve a test message: `GET /test/inbox/{id}`. */
      get: (id: PathValues<'GET', '/test/inbox/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/test/inbox/{id}'>> => caller.request('GET', '/test/inbox/{id}', { ...options, path: { id } }),

      /** Delete a test message: `DELETE /test/inbox/{id}`. */
      delete: (id: PathValues<'DELETE', '/test/inbox/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/test/inbox/{id}'>> => caller.request('DELETE', '/test/inbox/{id}', { ...options, path: { id } }),
    },
    templates: {
      /** List templates: `GET /templates`. */
      list: (query: Query<'GET', '/templates'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/templates'>, void, undefined> => caller.all('/templates', { ...options, query }),

      /** Create a template: `POST /templates`. */
      create: (body: Body<'POST', '/templates'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/templates'>> => caller.request('POST', '/templates', { ...options, body }),

      /** Retrieve a template: `GET /templates/{key}`. */
      get: (key: PathValues<'GET', '/templates/{key}'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/templates/{key}'>> => caller.request('GET', '/templates/{key}', { ...options, path: { key } }),

      /** Update the draft of a template: `PATCH /templates/{key}`. */
      update: (key: PathValues<'PATCH', '/templates/{key}'>['key'], body: Body<'PATCH', '/templates/{key}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/templates/{key}'>> => caller.request('PATCH', '/templates/{key}', { ...options, path: { key }, body }),

      /** Delete a template: `DELETE /templates/{key}`. */
      delete: (key: PathValues<'DELETE', '/templates/{key}'>['key'], query: Query<'DELETE', '/templates/{key}'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/templates/{key}'>> => caller.request('DELETE', '/templates/{key}', { ...options, path: { key }, query }),

      /** Check a template draft: `POST /templates/{key}/check`. */
      check: (key: PathValues<'POST', '/templates/{key}/check'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/templates/{key}/check'>> => caller.request('POST', '/templates/{key}/check', { ...options, path: { key } }),

      /** Render a template: `POST /templates/{key}/render`. */
      render: (key: PathValues<'POST', '/templates/{key}/render'>['key'], body: Body<'POST', '/templates/{key}/render'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/templates/{key}/render'>> => caller.request('POST', '/templates/{key}/render', { ...options, path: { key }, body }),

      /** Retrieve the JSON Schema of a template’s variables: `GET /templates/{key}/schema`. */
      getSchema: (key: PathValues<'GET', '/templates/{key}/schema'>['key'], query: Query<'GET', '/templates/{key}/schema'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'GET', '/templates/{key}/schema'>> => caller.request('GET', '/templates/{key}/schema', { ...options, path: { key }, query }),

      /** Compare template versions: `GET /templates/{key}/compare`. */
      compareVersions: (key: PathValues<'GET', '/templates/{key}/compare'>['key'], query: Query<'GET', '/templates/{key}/compare'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'GET', '/templates/{key}/compare'>> => caller.request('GET', '/templates/{key}/compare', { ...options, path: { key }, query }),

      /** Publish a template: `POST /templates/{key}/publish`. */
      publish: (key: PathValues<'POST', '/templates/{key}/publish'>['key'], body: Body<'POST', '/templates/{key}/publish'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/templates/{key}/publish'>> => caller.request('POST', '/templates/{key}/publish', { ...options, path: { key }, body }),

      /** List versions of a template: `GET /templates/{key}/versions`. */
      listVersions: (key: PathValues<'GET', '/templates/{key}/versions'>['key'], query: Query<'GET', '/templates/{key}/versions'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/templates/{key}/versions'>, void, undefined> => caller.all('/templates/{key}/versions', { ...options, path: { key }, query }),

      /** Send a test of a template: `POST /templates/{key}/test-send`. */
      testSend: (key: PathValues<'POST', '/templates/{key}/test-send'>['key'], body: Body<'POST', '/templates/{key}/test-send'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/templates/{key}/test-send'>> => caller.request('POST', '/templates/{key}/test-send', { ...options, path: { key }, body }),

      /** Retrieve a version of a template: `GET /templates/{key}/versions/{version}`. */
      getVersion: (key: PathValues<'GET', '/templates/{key}/versions/{version}'>['key'], version: PathValues<'GET', '/templates/{key}/versions/{version}'>['version'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/templates/{key}/versions/{version}'>> => caller.request('GET', '/templates/{key}/versions/{version}', { ...options, path: { key, version } }),
    },
    layouts: {
      /** List layouts: `GET /layouts`. */
      list: (query: Query<'GET', '/layouts'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/layouts'>, void, undefined> => caller.all('/layouts', { ...options, query }),

      /** Create a layout: `POST /layouts`. */
      create: (body: Body<'POST', '/layouts'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/layouts'>> => caller.request('POST', '/layouts', { ...options, body }),

      /** Retrieve a layout: `GET /layouts/{key}`. */
      get: (key: PathValues<'GET', '/layouts/{key}'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/layouts/{key}'>> => caller.request('GET', '/layouts/{key}', { ...options, path: { key } }),

      /** Update the draft of a layout: `PATCH /layouts/{key}`. */
      update: (key: PathValues<'PATCH', '/layouts/{key}'>['key'], body: Body<'PATCH', '/layouts/{key}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/layouts/{key}'>> => caller.request('PATCH', '/layouts/{key}', { ...options, path: { key }, body }),

      /** Delete a layout: `DELETE /layouts/{key}`. */
      delete: (key: PathValues<'DELETE', '/layouts/{key}'>['key'], query: Query<'DELETE', '/layouts/{key}'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/layouts/{key}'>> => caller.request('DELETE', '/layouts/{key}', { ...options, path: { key }, query }),

      /** Publish a layout: `POST /layouts/{key}/publish`. */
      publish: (key: PathValues<'POST', '/layouts/{key}/publish'>['key'], body: Body<'POST', '/layouts/{key}/publish'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/layouts/{key}/publish'>> => caller.request('POST', '/layouts/{key}/publish', { ...options, path: { key }, body }),

      /** List versions of a layout: `GET /layouts/{key}/versions`. */
      listVersions: (key: PathValues<'GET', '/layouts/{key}/versions'>['key'], query: Query<'GET', '/layouts/{key}/versions'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/layouts/{key}/versions'>, void, undefined> => caller.all('/layouts/{key}/versions', { ...options, path: { key }, query }),

      /** Retrieve a version of a layout: `GET /layouts/{key}/versions/{version}`. */
      getVersion: (key: PathValues<'GET', '/layouts/{key}/versions/{version}'>['key'], version: PathValues<'GET', '/layouts/{key}/versions/{version}'>['version'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/layouts/{key}/versions/{version}'>> => caller.request('GET', '/layouts/{key}/versions/{version}', { ...options, path: { key, version } }),
    },
    partials: {
      /** List partials: `GET /partials`. */
      list: (query: Query<'GET', '/partials'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/partials'>, void, undefined> => caller.all('/partials', { ...options, query }),

      /** Create a partial: `POST /partials`. */
      create: (body: Body<'POST', '/partials'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/partials'>> => caller.request('POST', '/partials', { ...options, body }),

      /** Retrieve a partial: `GET /partials/{key}`. */
      get: (key: PathValues<'GET', '/partials/{key}'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/partials/{key}'>> => caller.request('GET', '/partials/{key}', { ...options, path: { key } }),

      /** Update the draft of a partial: `PATCH /partials/{key}`. */
      update: (key: PathValues<'PATCH', '/partials/{key}'>['key'], body: Body<'PATCH', '/partials/{key}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/partials/{key}'>> => caller.request('PATCH', '/partials/{key}', { ...options, path: { key }, body }),

      /** Delete a partial: `DELETE /partials/{key}`. */
      delete: (key: PathValues<'DELETE', '/partials/{key}'>['key'], query: Query<'DELETE', '/partials/{key}'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/partials/{key}'>> => caller.request('DELETE', '/partials/{key}', { ...options, path: { key }, query }),

      /** Publish a partial: `POST /partials/{key}/publish`. */
      publish: (key: PathValues<'POST', '/partials/{key}/publish'>['key'], body: Body<'POST', '/partials/{key}/publish'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/partials/{key}/publish'>> => caller.request('POST', '/partials/{key}/publish', { ...options, path: { key }, body }),

      /** List versions of a partial: `GET /partials/{key}/versions`. */
      listVersions: (key: PathValues<'GET', '/partials/{key}/versions'>['key'], query: Query<'GET', '/partials/{key}/versions'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/partials/{key}/versions'>, void, undefined> => caller.all('/partials/{key}/versions', { ...options, path: { key }, query }),

      /** Retrieve a version of a partial: `GET /partials/{key}/versions/{version}`. */
      getVersion: (key: PathValues<'GET', '/partials/{key}/versions/{version}'>['key'], version: PathValues<'GET', '/partials/{key}/versions/{version}'>['version'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/partials/{key}/versions/{version}'>> => caller.request('GET', '/partials/{key}/versions/{version}', { ...options, path: { key, version } }),
    },
    templateDrafts: {
      /** List drafts: `GET /template-drafts`. */
      list: (query: Query<'GET', '/template-drafts'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/template-drafts'>, void, undefined> => caller.all('/template-drafts', { ...options, query }),

      /** Push drafts: `POST /template-drafts`. */
      push: (body: Body<'POST', '/template-drafts'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/template-drafts'>> => caller.request('POST', '/template-drafts', { ...options, body }),
    },
    contacts: {
      /** List contacts: `GET /contacts`. */
      list: (query: Query<'GET', '/contacts'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/contacts'>, void, undefined> => caller.all('/contacts', { ...options, query }),

      /** Create a contact: `POST /contacts`. */
      create: (body: Body<'POST', '/contacts'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/contacts'>> => caller.request('POST', '/contacts', { ...options, body }),

      /** Export contacts: `GET /contacts/export`. */
      export: (query: Query<'GET', '/contacts/export'> = {}, options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/contacts/export', { ...options, query }),

      /** Import contacts: `POST /contacts/import`. */
      import: (body: Body<'POST', '/contacts/import'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/contacts/import'>> => caller.request('POST', '/contacts/import', { ...options, body }),

      /** Retrieve a contact: `GET /contacts/{email}`. */
      get: (email: PathValues<'GET', '/contacts/{email}'>['email'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/contacts/{email}'>> => caller.request('GET', '/contacts/{email}', { ...options, path: { email } }),

      /** Create or update a contact: `PUT /contacts/{email}`. */
      upsert: (email: PathValues<'PUT', '/contacts/{email}'>['email'], body: Body<'PUT', '/contacts/{email}'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'PUT', '/contacts/{email}'>> => caller.request('PUT', '/contacts/{email}', { ...options, path: { email }, body }),

      /** Update a contact: `PATCH /contacts/{email}`. */
      update: (email: PathValues<'PATCH', '/contacts/{email}'>['email'], body: Body<'PATCH', '/contacts/{email}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/contacts/{email}'>> => caller.request('PATCH', '/contacts/{email}', { ...options, path: { email }, body }),

      /** Delete a contact or erase an address: `DELETE /contacts/{email}`. */
      delete: (email: PathValues<'DELETE', '/contacts/{email}'>['email'], query: Query<'DELETE', '/contacts/{email}'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/contacts/{email}'>> => caller.request('DELETE', '/contacts/{email}', { ...options, path: { email }, query }),
    },
    imports: {
      /** Retrieve an import: `GET /imports/{id}`. */
      get: (id: PathValues<'GET', '/imports/{id}'>['id'], query: Query<'GET', '/imports/{id}'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'GET', '/imports/{id}'>> => caller.request('GET', '/imports/{id}', { ...options, path: { id }, query }),
    },
    domains: {
      /** List domains: `GET /domains`. */
      list: (query: Query<'GET', '/domains'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/domains'>, void, undefined> => caller.all('/domains', { ...options, query }),

      /** Add a domain: `POST /domains`. */
      create: (body: Body<'POST', '/domains'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/domains'>> => caller.request('POST', '/domains', { ...options, body }),

      /** Retrieve a domain: `GET /domains/{id}`. */
      get: (id: PathValues<'GET', '/domains/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/domains/{id}'>> => caller.request('GET', '/domains/{id}', { ...options, path: { id } }),

      /** Update a domain: `PATCH /domains/{id}`. */
      update: (id: PathValues<'PATCH', '/domains/{id}'>['id'], body: Body<'PATCH', '/domains/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/domains/{id}'>> => caller.request('PATCH', '/domains/{id}', { ...options, path: { id }, body }),

      /** Delete a domain: `DELETE /domains/{id}`. */
      delete: (id: PathValues<'DELETE', '/domains/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/domains/{id}'>> => caller.request('DELETE', '/domains/{id}', { ...options, path: { id } }),

      /** Verify a domain: `POST /domains/{id}/verify`. */
      verify: (id: PathValues<'POST', '/domains/{id}/verify'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/domains/{id}/verify'>> => caller.request('POST', '/domains/{id}/verify', { ...options, path: { id } }),

      /** Find the DNS provider of a domain: `GET /domains/{id}/dns-zone`. */
      getDnsZone: (id: PathValues<'GET', '/domains/{id}/dns-zone'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/domains/{id}/dns-zone'>> => caller.request('GET', '/domains/{id}/dns-zone', { ...options, path: { id } }),

      /** Rotate DKIM keys: `POST /domains/{id}/rotate-dkim`. */
      rotateDkim: (id: PathValues<'POST', '/domains/{id}/rotate-dkim'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/domains/{id}/rotate-dkim'>> => caller.request('POST', '/domains/{id}/rotate-dkim', { ...options, path: { id } }),
    },
    streams: {
      /** List streams: `GET /streams`. */
      list: (query: Query<'GET', '/streams'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/streams'>, void, undefined> => caller.all('/streams', { ...options, query }),

      /** Create a stream: `POST /streams`. */
      create: (body: Body<'POST', '/streams'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/streams'>> => caller.request('POST', '/streams', { ...options, body }),

      /** Retrieve a stream: `GET /streams/{key}`. */
      get: (key: PathValues<'GET', '/streams/{key}'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/streams/{key}'>> => caller.request('GET', '/streams/{key}', { ...options, path: { key } }),

      /** Update a stream: `PATCH /streams/{key}`. */
      update: (key: PathValues<'PATCH', '/streams/{key}'>['key'], body: Body<'PATCH', '/streams/{key}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/streams/{key}'>> => caller.request('PATCH', '/streams/{key}', { ...options, path: { key }, body }),

      /** Delete a stream: `DELETE /streams/{key}`. */
      delete: (key: PathValues<'DELETE', '/streams/{key}'>['key'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/streams/{key}'>> => caller.request('DELETE', '/streams/{key}', { ...options, path: { key } }),
    },
    suppressions: {
      /** List suppressions: `GET /suppressions`. */
      list: (query: Query<'GET', '/suppressions'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/suppressions'>, void, undefined> => caller.all('/suppressions', { ...options, query }),

      /** Create a suppression: `POST /suppressions`. */
      create: (body: Body<'POST', '/suppressions'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/suppressions'>> => caller.request('POST', '/suppressions', { ...options, body }),

      /** Delete the suppressions of an address: `DELETE /suppressions`. */
      deleteByEmail: (query: Query<'DELETE', '/suppressions'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/suppressions'>> => caller.request('DELETE', '/suppressions', { ...options, query }),

      /** Create suppressions in bulk: `POST /suppressions/bulk`. */
      createBulk: (body: Body<'POST', '/suppressions/bulk'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/suppressions/bulk'>> => caller.request('POST', '/suppressions/bulk', { ...options, body }),

      /** Retrieve a suppression: `GET /suppressions/{id}`. */
      get: (id: PathValues<'GET', '/suppressions/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/suppressions/{id}'>> => caller.request('GET', '/suppressions/{id}', { ...options, path: { id } }),

      /** Update a suppression: `PATCH /suppressions/{id}`. */
      update: (id: PathValues<'PATCH', '/suppressions/{id}'>['id'], body: Body<'PATCH', '/suppressions/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/suppressions/{id}'>> => caller.request('PATCH', '/suppressions/{id}', { ...options, path: { id }, body }),

      /** Delete a suppression: `DELETE /suppressions/{id}`. */
      delete: (id: PathValues<'DELETE', '/suppressions/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/suppressions/{id}'>> => caller.request('DELETE', '/suppressions/{id}', { ...options, path: { id } }),

      /** Export suppressions: `GET /suppressions/export`. */
      export: (query: Query<'GET', '/suppressions/export'> = {}, options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/suppressions/export', { ...options, query }),
    },
    webhooks: {
      /** List webhook endpoints: `GET /webhooks`. */
      list: (query: Query<'GET', '/webhooks'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/webhooks'>, void, undefined> => caller.all('/webhooks', { ...options, query }),

      /** Create a webhook endpoint: `POST /webhooks`. */
      create: (body: Body<'POST', '/webhooks'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/webhooks'>> => caller.request('POST', '/webhooks', { ...options, body }),

      /** Retrieve a webhook endpoint: `GET /webhooks/{id}`. */
      get: (id: PathValues<'GET', '/webhooks/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/webhooks/{id}'>> => caller.request('GET', '/webhooks/{id}', { ...options, path: { id } }),

      /** Update a webhook endpoint: `PATCH /webhooks/{id}`. */
      update: (id: PathValues<'PATCH', '/webhooks/{id}'>['id'], body: Body<'PATCH', '/webhooks/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/webhooks/{id}'>> => caller.request('PATCH', '/webhooks/{id}', { ...options, path: { id }, body }),

      /** Delete a webhook endpoint: `DELETE /webhooks/{id}`. */
      delete: (id: PathValues<'DELETE', '/webhooks/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/webhooks/{id}'>> => caller.request('DELETE', '/webhooks/{id}', { ...options, path: { id } }),

      /** Test a webhook endpoint: `POST /webhooks/{id}/test`. */
      test: (id: PathValues<'POST', '/webhooks/{id}/test'>['id'], body: Body<'POST', '/webhooks/{id}/test'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/webhooks/{id}/test'>> => caller.request('POST', '/webhooks/{id}/test', { ...options, path: { id }, body }),

      /** Replay webhook events: `POST /webhooks/{id}/replay`. */
      replay: (id: PathValues<'POST', '/webhooks/{id}/replay'>['id'], body: Body<'POST', '/webhooks/{id}/replay'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/webhooks/{id}/replay'>> => caller.request('POST', '/webhooks/{id}/replay', { ...options, path: { id }, body }),

      /** List webhook deliveries of an endpoint: `GET /webhooks/{id}/deliveries`. */
      listDeliveries: (id: PathValues<'GET', '/webhooks/{id}/deliveries'>['id'], query: Query<'GET', '/webhooks/{id}/deliveries'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/webhooks/{id}/deliveries'>, void, undefined> => caller.all('/webhooks/{id}/deliveries', { ...options, path: { id }, query }),

      /** Rotate a webhook secret: `POST /webhooks/{id}/rotate-secret`. */
      rotateSecret: (id: PathValues<'POST', '/webhooks/{id}/rotate-secret'>['id'], body: Body<'POST', '/webhooks/{id}/rotate-secret'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/webhooks/{id}/rotate-secret'>> => caller.request('POST', '/webhooks/{id}/rotate-secret', { ...options, path: { id }, body }),

      /** Retrieve a webhook delivery: `GET /webhooks/{id}/deliveries/{delivery_id}`. */
      getDelivery: (id: PathValues<'GET', '/webhooks/{id}/deliveries/{delivery_id}'>['id'], deliveryId: PathValues<'GET', '/webhooks/{id}/deliveries/{delivery_id}'>['delivery_id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/webhooks/{id}/deliveries/{delivery_id}'>> => caller.request('GET', '/webhooks/{id}/deliveries/{delivery_id}', { ...options, path: { id, delivery_id: deliveryId } }),
    },
    webhookDeliveries: {
      /** List webhook deliveries of all endpoints: `GET /webhook-deliveries`. */
      list: (query: Query<'GET', '/webhook-deliveries'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/webhook-deliveries'>, void, undefined> => caller.all('/webhook-deliveries', { ...options, query }),

      /** Retrieve a webhook delivery by id: `GET /webhook-deliveries/{delivery_id}`. */
      get: (deliveryId: PathValues<'GET', '/webhook-deliveries/{delivery_id}'>['delivery_id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/webhook-deliveries/{delivery_id}'>> => caller.request('GET', '/webhook-deliveries/{delivery_id}', { ...options, path: { delivery_id: deliveryId } }),
    },
    events: {
      /** List events: `GET /events`. */
      list: (query: Query<'GET', '/events'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/events'>, void, undefined> => caller.all('/events', { ...options, query }),

      /** Export events: `GET /events/export`. */
      export: (query: Query<'GET', '/events/export'> = {}, options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/events/export', { ...options, query }),
    },
    alarms: {
      /** List active alarms: `GET /alarms`. */
      list: (query: Query<'GET', '/alarms'> = {}, options: RequestSettings = {}): Promise<ResponseBody<'GET', '/alarms'>> => caller.request('GET', '/alarms', { ...options, query }),
    },
    requests: {
      /** List API requests: `GET /requests`. */
      list: (query: Query<'GET', '/requests'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/requests'>, void, undefined> => caller.all('/requests', { ...options, query }),

      /** Retrieve an API request: `GET /requests/{id}`. */
      get: (id: PathValues<'GET', '/requests/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/requests/{id}'>> => caller.request('GET', '/requests/{id}', { ...options, path: { id } }),
    },
    auditLog: {
      /** List audit log entries: `GET /audit-log`. */
      list: (query: Query<'GET', '/audit-log'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/audit-log'>, void, undefined> => caller.all('/audit-log', { ...options, query }),
    },
    apiKeys: {
      /** List API keys: `GET /api-keys`. */
      list: (query: Query<'GET', '/api-keys'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/api-keys'>, void, undefined> => caller.all('/api-keys', { ...options, query }),

      /** Create an API key: `POST /api-keys`. */
      create: (body: Body<'POST', '/api-keys'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/api-keys'>> => caller.request('POST', '/api-keys', { ...options, body }),

      /** Retrieve an API key: `GET /api-keys/{id}`. */
      get: (id: PathValues<'GET', '/api-keys/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/api-keys/{id}'>> => caller.request('GET', '/api-keys/{id}', { ...options, path: { id } }),

      /** Update an API key: `PATCH /api-keys/{id}`. */
      update: (id: PathValues<'PATCH', '/api-keys/{id}'>['id'], body: Body<'PATCH', '/api-keys/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/api-keys/{id}'>> => caller.request('PATCH', '/api-keys/{id}', { ...options, path: { id }, body }),

      /** Revoke an API key: `DELETE /api-keys/{id}`. */
      revoke: (id: PathValues<'DELETE', '/api-keys/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/api-keys/{id}'>> => caller.request('DELETE', '/api-keys/{id}', { ...options, path: { id } }),

      /** Retrieve the calling API key: `GET /api-keys/current`. */
      getCurrent: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/api-keys/current'>> => caller.request('GET', '/api-keys/current', { ...options }),

      /** Rotate an API key: `POST /api-keys/{id}/rotate`. */
      rotate: (id: PathValues<'POST', '/api-keys/{id}/rotate'>['id'], body: Body<'POST', '/api-keys/{id}/rotate'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/api-keys/{id}/rotate'>> => caller.request('POST', '/api-keys/{id}/rotate', { ...options, path: { id }, body }),

      /** List the SES credentials of an API key: `GET /api-keys/{id}/ses-credentials`. */
      listSesCredentials: (id: PathValues<'GET', '/api-keys/{id}/ses-credentials'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/api-keys/{id}/ses-credentials'>> => caller.request('GET', '/api-keys/{id}/ses-credentials', { ...options, path: { id } }),

      /** Create SES credentials: `POST /api-keys/{id}/ses-credentials`. */
      createSesCredentials: (id: PathValues<'POST', '/api-keys/{id}/ses-credentials'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'POST', '/api-keys/{id}/ses-credentials'>> => caller.request('POST', '/api-keys/{id}/ses-credentials', { ...options, path: { id } }),

      /** Revoke SES credentials: `DELETE /api-keys/{id}/ses-credentials/{access_key_id}`. */
      revokeSesCredentials: (id: PathValues<'DELETE', '/api-keys/{id}/ses-credentials/{access_key_id}'>['id'], accessKeyId: PathValues<'DELETE', '/api-keys/{id}/ses-credentials/{access_key_id}'>['access_key_id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/api-keys/{id}/ses-credentials/{access_key_id}'>> => caller.request('DELETE', '/api-keys/{id}/ses-credentials/{access_key_id}', { ...options, path: { id, access_key_id: accessKeyId } }),
    },
    operator: {
      /** Retrieve the queue by workspace and receiver: `GET /operator/queue`. */
      listQueue: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/queue'>> => caller.request('GET', '/operator/queue', { ...options }),

      /** Retrieve the status of the server: `GET /operator/status`. */
      getStatus: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/status'>> => caller.request('GET', '/operator/status', { ...options }),

      /** List what operator keys changed: `GET /operator/audit-log`. */
      listAuditLog: (query: Query<'GET', '/operator/audit-log'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/operator/audit-log'>, void, undefined> => caller.all('/operator/audit-log', { ...options, query }),

      /** List all workspaces: `GET /operator/workspaces`. */
      listWorkspaces: (query: Query<'GET', '/operator/workspaces'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/operator/workspaces'>, void, undefined> => caller.all('/operator/workspaces', { ...options, query }),

      /** Create a workspace: `POST /operator/workspaces`. */
      createWorkspace: (body: Body<'POST', '/operator/workspaces'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces'>> => caller.request('POST', '/operator/workspaces', { ...options, body }),

      /** Retrieve a workspace: `GET /operator/workspaces/{id}`. */
      getWorkspace: (id: PathValues<'GET', '/operator/workspaces/{id}'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/workspaces/{id}'>> => caller.request('GET', '/operator/workspaces/{id}', { ...options, path: { id } }),

      /** Rename a workspace: `PATCH /operator/workspaces/{id}`. */
      updateWorkspace: (id: PathValues<'PATCH', '/operator/workspaces/{id}'>['id'], body: Body<'PATCH', '/operator/workspaces/{id}'>, options: RequestSettings = {}): Promise<ResponseBody<'PATCH', '/operator/workspaces/{id}'>> => caller.request('PATCH', '/operator/workspaces/{id}', { ...options, path: { id }, body }),

      /** Retrieve the brake of a workspace: `GET /operator/workspaces/{id}/brake`. */
      getBrake: (id: PathValues<'GET', '/operator/workspaces/{id}/brake'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/workspaces/{id}/brake'>> => caller.request('GET', '/operator/workspaces/{id}/brake', { ...options, path: { id } }),

      /** Set the brake thresholds of a workspace: `PUT /operator/workspaces/{id}/brake`. */
      setBrake: (id: PathValues<'PUT', '/operator/workspaces/{id}/brake'>['id'], body: Body<'PUT', '/operator/workspaces/{id}/brake'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'PUT', '/operator/workspaces/{id}/brake'>> => caller.request('PUT', '/operator/workspaces/{id}/brake', { ...options, path: { id }, body }),

      /** Release the brake of a workspace: `DELETE /operator/workspaces/{id}/brake`. */
      releaseBrake: (id: PathValues<'DELETE', '/operator/workspaces/{id}/brake'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/operator/workspaces/{id}/brake'>> => caller.request('DELETE', '/operator/workspaces/{id}/brake', { ...options, path: { id } }),

      /** Retrieve the usage of a workspace: `GET /operator/workspaces/{id}/usage`. */
      getUsage: (id: PathValues<'GET', '/operator/workspaces/{id}/usage'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/workspaces/{id}/usage'>> => caller.request('GET', '/operator/workspaces/{id}/usage', { ...options, path: { id } }),

      /** Export a workspace: `GET /operator/workspaces/{id}/export`. */
      exportWorkspace: (id: PathValues<'GET', '/operator/workspaces/{id}/export'>['id'], query: Query<'GET', '/operator/workspaces/{id}/export'> = {}, options: RequestSettings = {}): Promise<Response> => caller.response('GET', '/operator/workspaces/{id}/export', { ...options, path: { id }, query }),

      /** Retrieve the quotas of a workspace: `GET /operator/workspaces/{id}/quotas`. */
      getQuotas: (id: PathValues<'GET', '/operator/workspaces/{id}/quotas'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/workspaces/{id}/quotas'>> => caller.request('GET', '/operator/workspaces/{id}/quotas', { ...options, path: { id } }),

      /** Set the quotas of a workspace: `PUT /operator/workspaces/{id}/quotas`. */
      setQuotas: (id: PathValues<'PUT', '/operator/workspaces/{id}/quotas'>['id'], body: Body<'PUT', '/operator/workspaces/{id}/quotas'> | undefined = undefined, options: RequestSettings = {}): Promise<ResponseBody<'PUT', '/operator/workspaces/{id}/quotas'>> => caller.request('PUT', '/operator/workspaces/{id}/quotas', { ...options, path: { id }, body }),

      /** List the members of a workspace: `GET /operator/workspaces/{id}/members`. */
      listMembers: (id: PathValues<'GET', '/operator/workspaces/{id}/members'>['id'], query: Query<'GET', '/operator/workspaces/{id}/members'> = {}, options: RequestSettings = {}): AsyncGenerator<Item<'/operator/workspaces/{id}/members'>, void, undefined> => caller.all('/operator/workspaces/{id}/members', { ...options, path: { id }, query }),

      /** Add a member to a workspace: `POST /operator/workspaces/{id}/members`. */
      addMember: (id: PathValues<'POST', '/operator/workspaces/{id}/members'>['id'], body: Body<'POST', '/operator/workspaces/{id}/members'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces/{id}/members'>> => caller.request('POST', '/operator/workspaces/{id}/members', { ...options, path: { id }, body }),

      /** Create an API key of a workspace: `POST /operator/workspaces/{id}/api-keys`. */
      createApiKey: (id: PathValues<'POST', '/operator/workspaces/{id}/api-keys'>['id'], body: Body<'POST', '/operator/workspaces/{id}/api-keys'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces/{id}/api-keys'>> => caller.request('POST', '/operator/workspaces/{id}/api-keys', { ...options, path: { id }, body }),

      /** Delete a workspace: `POST /operator/workspaces/{id}/deletion`. */
      deleteWorkspace: (id: PathValues<'POST', '/operator/workspaces/{id}/deletion'>['id'], body: Body<'POST', '/operator/workspaces/{id}/deletion'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces/{id}/deletion'>> => caller.request('POST', '/operator/workspaces/{id}/deletion', { ...options, path: { id }, body }),

      /** Restore a workspace: `DELETE /operator/workspaces/{id}/deletion`. */
      restoreWorkspace: (id: PathValues<'DELETE', '/operator/workspaces/{id}/deletion'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/operator/workspaces/{id}/deletion'>> => caller.request('DELETE', '/operator/workspaces/{id}/deletion', { ...options, path: { id } }),

      /** Suspend a workspace: `POST /operator/workspaces/{id}/suspension`. */
      suspendWorkspace: (id: PathValues<'POST', '/operator/workspaces/{id}/suspension'>['id'], body: Body<'POST', '/operator/workspaces/{id}/suspension'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces/{id}/suspension'>> => caller.request('POST', '/operator/workspaces/{id}/suspension', { ...options, path: { id }, body }),

      /** Resume a workspace: `DELETE /operator/workspaces/{id}/suspension`. */
      resumeWorkspace: (id: PathValues<'DELETE', '/operator/workspaces/{id}/suspension'>['id'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/operator/workspaces/{id}/suspension'>> => caller.request('DELETE', '/operator/workspaces/{id}/suspension', { ...options, path: { id } }),

      /** Invite a member to a workspace: `POST /operator/workspaces/{id}/invitations`. */
      inviteMember: (id: PathValues<'POST', '/operator/workspaces/{id}/invitations'>['id'], body: Body<'POST', '/operator/workspaces/{id}/invitations'>, options: RequestSettings = {}): Promise<ResponseBody<'POST', '/operator/workspaces/{id}/invitations'>> => caller.request('POST', '/operator/workspaces/{id}/invitations', { ...options, path: { id }, body }),

      /** Retrieve the usage of a workspace in a month: `GET /operator/workspaces/{id}/usage/{month}`. */
      getMonthlyUsage: (id: PathValues<'GET', '/operator/workspaces/{id}/usage/{month}'>['id'], month: PathValues<'GET', '/operator/workspaces/{id}/usage/{month}'>['month'], options: RequestSettings = {}): Promise<ResponseBody<'GET', '/operator/workspaces/{id}/usage/{month}'>> => caller.request('GET', '/operator/workspaces/{id}/usage/{month}', { ...options, path: { id, month } }),

      /** Remove a member from a workspace: `DELETE /operator/workspaces/{id}/members/{member}`. */
      removeMember: (id: PathValues<'DELETE', '/operator/workspaces/{id}/members/{member}'>['id'], member: PathValues<'DELETE', '/operator/workspaces/{id}/members/{member}'>['member'], options: RequestSettings = {}): Promise<ResponseBody<'DELETE', '/operator/workspaces/{id}/members/{member}'>> => caller.request('DELETE', '/operator/workspaces/{id}/members/{member}', { ...options, path: { id, member } }),
    },
    limits: {
      /** Retrieve the limits: `GET /limits`. */
      get: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/limits'>> => caller.request('GET', '/limits', { ...options }),
    },
    smtp: {
      /** Retrieve the SMTP settings: `GET /smtp`. */
      get: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/smtp'>> => caller.request('GET', '/smtp', { ...options }),
    },
    usage: {
      /** Retrieve usage and quotas: `GET /usage`. */
      get: (options: RequestSettings = {}): Promise<ResponseBody<'GET', '/usage'>> => caller.request('GET', '/usage', { ...options }),
    },
  };
}
