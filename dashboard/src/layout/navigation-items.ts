import {
  Activity,
  AtSign,
  Ban,
  BookOpen,
  BookUser,
  FileCode2,
  History,
  Inbox,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Mail,
  Mailbox,
  ScrollText,
  Settings,
  Users,
  Waves,
  Webhook,
} from 'lucide-react';

/** A page in the navigation; `key` is its shortcut after `g`. */
export interface NavigationItem {
  to: string;
  label: string;
  icon: LucideIcon;
  key: string;
  /** The permission required to see the page. */
  permission?: string;
}

/** Served outside of the dashboard application. */
export const DOCUMENTATION = { href: '/docs', label: 'Documentation', icon: BookOpen };

export interface NavigationGroup {
  label: string | null;
  pages: NavigationItem[];
  external?: typeof DOCUMENTATION;
}

export const NAVIGATION_GROUPS: NavigationGroup[] = [
  {
    label: null,
    pages: [
      { to: '/', label: 'Overview', icon: LayoutDashboard, key: 'o' },
      { to: '/messages', label: 'Messages', icon: Mail, key: 'm', permission: 'read:messages' },
      {
        to: '/inbound',
        label: 'Inbound',
        icon: Mailbox,
        key: 'n',
        permission: 'read:inbound_messages',
      },
      {
        to: '/test-inbox',
        label: 'Test inbox',
        icon: Inbox,
        key: 'i',
        permission: 'read:messages',
      },
    ],
  },
  {
    label: 'Content',
    pages: [
      {
        to: '/templates',
        label: 'Templates',
        icon: FileCode2,
        key: 't',
        permission: 'read:templates',
      },
      { to: '/contacts', label: 'Contacts', icon: BookUser, key: 'c', permission: 'read:contacts' },
    ],
  },
  {
    label: 'Delivery',
    pages: [
      { to: '/domains', label: 'Domains', icon: AtSign, key: 'd', permission: 'read:domains' },
      { to: '/streams', label: 'Streams', icon: Waves, key: 'r', permission: 'read:streams' },
      {
        to: '/suppressions',
        label: 'Suppressions',
        icon: Ban,
        key: 's',
        permission: 'read:suppressions',
      },
    ],
  },
  {
    label: 'Developers',
    external: DOCUMENTATION,
    pages: [
      { to: '/api-keys', label: 'API keys', icon: KeyRound, key: 'k', permission: 'read:api_keys' },
      { to: '/webhooks', label: 'Webhooks', icon: Webhook, key: 'w', permission: 'read:webhooks' },
      { to: '/events', label: 'Events', icon: Activity, key: 'e', permission: 'read:events' },
      {
        to: '/requests',
        label: 'Request log',
        icon: ScrollText,
        key: 'q',
        permission: 'read:logs',
      },
    ],
  },
  {
    label: 'Workspace',
    pages: [
      { to: '/team', label: 'Team', icon: Users, key: 'p', permission: 'read:members' },
      {
        to: '/audit-log',
        label: 'Audit log',
        icon: History,
        key: 'a',
        permission: 'read:audit_log',
      },
      { to: '/settings', label: 'Settings', icon: Settings, key: ',' },
    ],
  },
];

export const PAGES: NavigationItem[] = NAVIGATION_GROUPS.flatMap(({ pages }) => pages);
