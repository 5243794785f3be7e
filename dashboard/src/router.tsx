import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { lazyPage } from './layout/lazy-page.ts';
import { PageError, PageNotFound } from './layout/error-pages.tsx';
import { Toasts } from './layout/toasts.tsx';
import { SkeletonPage } from './components/skeleton.tsx';
import { RequireSession } from './session/require-session.tsx';

/** Every page and its address. What can be filtered stands in the address, so that it can be shared. */

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
  validateSearch: texts('next'),
  component: lazyPage(() => import('./session/sign-in.tsx'), 'SignInPage'),
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

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyPage(() => import('./session/invitation.tsx'), 'InvitationPage'),
});

const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: RequireSession });

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  validateSearch: texts('range', 'by'),
  component: lazyPage(() => import('./pages/overview/overview.tsx'), 'OverviewPage'),
});

const apiKeys = createRoute({
  getParentRoute: () => inside,
  path: '/api-keys',
  validateSearch: texts('q', 'new'),
  component: lazyPage(() => import('./pages/api-keys/api-keys.tsx'), 'ApiKeysPage'),
});

const messages = createRoute({
  getParentRoute: () => inside,
  path: '/messages',
  validateSearch: texts(
    'q',
    'status',
    'since',
    'recipient',
    'receiver',
    'domain',
    'tag',
    'template',
    'metadata',
  ),
  component: lazyPage(() => import('./pages/messages/messages.tsx'), 'MessagesPage'),
});

const message = createRoute({
  getParentRoute: () => inside,
  path: '/messages/$id',
  component: lazyPage(() => import('./pages/messages/message.tsx'), 'MessagePage'),
});

const testInbox = createRoute({
  getParentRoute: () => inside,
  path: '/test-inbox',
  validateSearch: texts('to', 'id'),
  component: lazyPage(() => import('./pages/test-inbox/test-inbox.tsx'), 'TestInboxPage'),
});

const contacts = createRoute({
  getParentRoute: () => inside,
  path: '/contacts',
  validateSearch: texts('q', 'open', 'new'),
  component: lazyPage(() => import('./pages/contacts/contacts.tsx'), 'ContactsPage'),
});

const domains = createRoute({
  getParentRoute: () => inside,
  path: '/domains',
  validateSearch: texts('q', 'new'),
  component: lazyPage(() => import('./pages/domains/domains.tsx'), 'DomainsPage'),
});

const domain = createRoute({
  getParentRoute: () => inside,
  path: '/domains/$id',
  component: lazyPage(() => import('./pages/domains/domain.tsx'), 'DomainPage'),
});

const suppressions = createRoute({
  getParentRoute: () => inside,
  path: '/suppressions',
  validateSearch: texts('q', 'reason', 'new'),
  component: lazyPage(() => import('./pages/suppressions/suppressions.tsx'), 'SuppressionsPage'),
});

const templates = createRoute({
  getParentRoute: () => inside,
  path: '/templates',
  validateSearch: texts('kind', 'q', 'new'),
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
  validateSearch: texts('new'),
  component: lazyPage(() => import('./pages/webhooks/webhooks.tsx'), 'WebhooksPage'),
});

const webhook = createRoute({
  getParentRoute: () => inside,
  path: '/webhooks/$id',
  validateSearch: texts('status', 'type'),
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
  validateSearch: texts('type', 'recipient'),
  component: lazyPage(() => import('./pages/events/events.tsx'), 'EventsPage'),
});

const find = createRoute({
  getParentRoute: () => inside,
  path: '/find/$id',
  component: lazyPage(() => import('./pages/find/find.tsx'), 'FindPage'),
});

const team = createRoute({
  getParentRoute: () => inside,
  path: '/team',
  validateSearch: texts('q', 'new'),
  component: lazyPage(() => import('./pages/team/team.tsx'), 'TeamPage'),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  validateSearch: texts('tab'),
  component: lazyPage(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
});

/** An address of ours that leads nowhere keeps what stands around the page. */
const missing = createRoute({ getParentRoute: () => inside, path: '$', component: PageNotFound });

export const router = createRouter({
  basepath: '/app',
  routeTree: root.addChildren([
    signIn,
    setup,
    resetPassword,
    invitation,
    inside.addChildren([
      overview,
      messages,
      message,
      testInbox,
      templates,
      template,
      contacts,
      domains,
      domain,
      suppressions,
      apiKeys,
      webhooks,
      webhook,
      webhookDelivery,
      events,
      find,
      team,
      settings,
      missing,
    ]),
  ]),
  defaultPendingComponent: SkeletonPage,
  defaultErrorComponent: PageError,
  defaultPreload: 'intent',
  // All values are texts: a search for 123 or true is one for these letters.
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

/** The search parameters that a page knows; anything else in the address is left out. */
function texts<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [name in Name]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [name in Name]?: string };
}
