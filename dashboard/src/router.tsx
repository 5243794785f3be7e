import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { SkeletonPage } from './components/skeleton.tsx';
import { PageError, PageNotFound } from './layout/error-pages.tsx';
import { lazyPage } from './layout/lazy-page.ts';
import { Toasts } from './layout/toasts.tsx';
import { RequireSession } from './session/require-session.tsx';

/** Every page and its URL. Filters are search parameters, so that a filtered view can be shared. */

const root = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
  notFoundComponent: PageNotFound,
  errorComponent: PageError,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: stringParams('next', 'workspace'),
  component: lazyPage(() => import('./session/sign-in.tsx'), 'SignInPage'),
});

const singleSignOnFailed = createRoute({
  getParentRoute: () => root,
  path: '/single-sign-on-failed',
  validateSearch: stringParams('reason', 'workspace', 'request'),
  component: lazyPage(
    () => import('./session/single-sign-on-failed.tsx'),
    'SingleSignOnFailedPage',
  ),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  component: lazyPage(() => import('./session/setup.tsx'), 'SetupPage'),
});

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: lazyPage(() => import('./session/reset-password.tsx'), 'ResetPasswordPage'),
});

const confirmEmail = createRoute({
  getParentRoute: () => root,
  path: '/confirm-email',
  component: lazyPage(() => import('./session/confirm-email.tsx'), 'ConfirmEmailPage'),
});

const undoEmailChange = createRoute({
  getParentRoute: () => root,
  path: '/undo-email-change',
  component: lazyPage(() => import('./session/undo-email-change.tsx'), 'UndoEmailChangePage'),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyPage(() => import('./session/invitation.tsx'), 'InvitationPage'),
});

const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: RequireSession });

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  validateSearch: stringParams('range', 'after', 'before', 'by', 'stream'),
  component: lazyPage(() => import('./pages/overview/overview.tsx'), 'OverviewPage'),
});

const apiKeys = createRoute({
  getParentRoute: () => inside,
  path: '/api-keys',
  validateSearch: stringParams('q', 'new'),
  component: lazyPage(() => import('./pages/api-keys/api-keys.tsx'), 'ApiKeysPage'),
});

const messages = createRoute({
  getParentRoute: () => inside,
  path: '/messages',
  validateSearch: stringParams(
    'q',
    'status',
    'since',
    'recipient',
    'receiver',
    'domain',
    'stream',
    'tag',
    'template',
    'metadata',
    'reason',
    'key',
    'after',
    'before',
  ),
  component: lazyPage(() => import('./pages/messages/messages.tsx'), 'MessagesPage'),
});

const message = createRoute({
  getParentRoute: () => inside,
  path: '/messages/$id',
  component: lazyPage(() => import('./pages/messages/message.tsx'), 'MessagePage'),
});

const inbound = createRoute({
  getParentRoute: () => inside,
  path: '/inbound',
  validateSearch: stringParams(
    'q',
    'from',
    'to',
    'domain',
    'answers',
    'since',
    'after',
    'before',
    'new',
  ),
  component: lazyPage(() => import('./pages/inbound/inbound.tsx'), 'InboundPage'),
});

const inboundMessage = createRoute({
  getParentRoute: () => inside,
  path: '/inbound/$id',
  component: lazyPage(() => import('./pages/inbound/inbound-message.tsx'), 'InboundMessagePage'),
});

const testInbox = createRoute({
  getParentRoute: () => inside,
  path: '/test-inbox',
  validateSearch: stringParams('to', 'id'),
  component: lazyPage(() => import('./pages/test-inbox/test-inbox.tsx'), 'TestInboxPage'),
});

const contacts = createRoute({
  getParentRoute: () => inside,
  path: '/contacts',
  validateSearch: stringParams('q', 'open', 'new'),
  component: lazyPage(() => import('./pages/contacts/contacts.tsx'), 'ContactsPage'),
});

const domains = createRoute({
  getParentRoute: () => inside,
  path: '/domains',
  validateSearch: stringParams('q', 'new'),
  component: lazyPage(() => import('./pages/domains/domains.tsx'), 'DomainsPage'),
});

const domain = createRoute({
  getParentRoute: () => inside,
  path: '/domains/$id',
  component: lazyPage(() => import('./pages/domains/domain.tsx'), 'DomainPage'),
});

const streams = createRoute({
  getParentRoute: () => inside,
  path: '/streams',
  validateSearch: stringParams('new'),
  component: lazyPage(() => import('./pages/streams/streams.tsx'), 'StreamsPage'),
});

const suppressions = createRoute({
  getParentRoute: () => inside,
  path: '/suppressions',
  validateSearch: stringParams('q', 'reason', 'stream', 'since', 'after', 'before', 'new'),
  component: lazyPage(() => import('./pages/suppressions/suppressions.tsx'), 'SuppressionsPage'),
});

const templates = createRoute({
  getParentRoute: () => inside,
  path: '/templates',
  validateSearch: stringParams('kind', 'q', 'new'),
  component: lazyPage(() => import('./pages/templates/templates.tsx'), 'TemplatesPage'),
});

const template = createRoute({
  getParentRoute: () => inside,
  path: '/templates/$kind/$key',
  component: lazyPage(() => import('./pages/templates/template.tsx'), 'TemplatePage'),
});

const webhooks = createRoute({
  getParentRoute: () => inside,
  path: '/webhooks',
  validateSearch: stringParams('new'),
  component: lazyPage(() => import('./pages/webhooks/webhooks.tsx'), 'WebhooksPage'),
});

const webhook = createRoute({
  getParentRoute: () => inside,
  path: '/webhooks/$id',
  validateSearch: stringParams('status', 'type'),
  component: lazyPage(() => import('./pages/webhooks/webhook.tsx'), 'WebhookPage'),
});

const webhookDelivery = createRoute({
  getParentRoute: () => inside,
  path: '/webhooks/$id/deliveries/$deliveryId',
  component: lazyPage(() => import('./pages/webhooks/webhook-delivery.tsx'), 'WebhookDeliveryPage'),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: '/events',
  validateSearch: stringParams('type', 'recipient', 'stream', 'since', 'after', 'before'),
  component: lazyPage(() => import('./pages/events/events.tsx'), 'EventsPage'),
});

const requests = createRoute({
  getParentRoute: () => inside,
  path: '/requests',
  validateSearch: stringParams('q', 'status', 'method', 'key', 'since', 'after', 'before'),
  component: lazyPage(() => import('./pages/requests/requests.tsx'), 'RequestsPage'),
});

const request = createRoute({
  getParentRoute: () => inside,
  path: '/requests/$id',
  component: lazyPage(() => import('./pages/requests/request.tsx'), 'RequestPage'),
});

const auditLog = createRoute({
  getParentRoute: () => inside,
  path: '/audit-log',
  validateSearch: stringParams('actor', 'action', 'since', 'after', 'before'),
  component: lazyPage(() => import('./pages/audit-log/audit-log.tsx'), 'AuditLogPage'),
});

const find = createRoute({
  getParentRoute: () => inside,
  path: '/find/$id',
  component: lazyPage(() => import('./pages/find/find.tsx'), 'FindPage'),
});

const team = createRoute({
  getParentRoute: () => inside,
  path: '/team',
  validateSearch: stringParams('q', 'new'),
  component: lazyPage(() => import('./pages/team/team.tsx'), 'TeamPage'),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  validateSearch: stringParams('tab'),
  component: lazyPage(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
});

/** The operator's own area has its own credential, so it is not inside the session. */
const operator = createRoute({
  getParentRoute: () => root,
  path: '/operator',
  component: lazyPage(() => import('./pages/operator/operator-layout.tsx'), 'OperatorLayout'),
});

const operatorWorkspaces = createRoute({
  getParentRoute: () => operator,
  path: '/',
  validateSearch: stringParams('q', 'suspended'),
  component: lazyPage(
    () => import('./pages/operator/operator-workspaces.tsx'),
    'OperatorWorkspacesPage',
  ),
});

const operatorWorkspace = createRoute({
  getParentRoute: () => operator,
  path: '/workspaces/$id',
  component: lazyPage(
    () => import('./pages/operator/operator-workspace.tsx'),
    'OperatorWorkspacePage',
  ),
});

const operatorQueue = createRoute({
  getParentRoute: () => operator,
  path: '/queue',
  component: lazyPage(() => import('./pages/operator/operator-queue.tsx'), 'OperatorQueuePage'),
});

const operatorAuditLog = createRoute({
  getParentRoute: () => operator,
  path: '/audit-log',
  component: lazyPage(
    () => import('./pages/operator/operator-audit-log.tsx'),
    'OperatorAuditLogPage',
  ),
});

const operatorKeys = createRoute({
  getParentRoute: () => operator,
  path: '/keys',
  component: lazyPage(() => import('./pages/operator/operator-keys.tsx'), 'OperatorKeysPage'),
});

/** Unknown URLs show an error inside the layout. */
const missing = createRoute({ getParentRoute: () => inside, path: '$', component: PageNotFound });

export const router = createRouter({
  basepath: '/app',
  routeTree: root.addChildren([
    signIn,
    singleSignOnFailed,
    setup,
    resetPassword,
    confirmEmail,
    undoEmailChange,
    invitation,
    operator.addChildren([
      operatorWorkspaces,
      operatorWorkspace,
      operatorQueue,
      operatorAuditLog,
      operatorKeys,
    ]),
    inside.addChildren([
      overview,
      messages,
      message,
      inbound,
      inboundMessage,
      testInbox,
      templates,
      template,
      contacts,
      domains,
      domain,
      streams,
      suppressions,
      apiKeys,
      webhooks,
      webhook,
      webhookDelivery,
      events,
      requests,
      request,
      auditLog,
      find,
      team,
      settings,
      missing,
    ]),
  ]),
  defaultPendingComponent: SkeletonPage,
  defaultErrorComponent: PageError,
  defaultPreload: 'intent',
  // All values are strings: a search for 123 or true must not become a number or boolean.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(given as [string, string][]).toString();
    return text === '' ? '' : `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

/** Validates the search parameters of a page; unknown ones are dropped. */
function stringParams<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [name in Name]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [name in Name]?: string };
}
