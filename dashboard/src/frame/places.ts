import {
  Activity,
  AtSign,
  Ban,
  BookOpen,
  BookUser,
  FileCode2,
  Inbox,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Mail,
  Settings,
  Users,
  Webhook,
} from 'lucide-react';

/** The pages, in the order of the navigation; `key` follows `g`. */
export interface PageEntry {
  to: string;
  label: string;
  icon: LucideIcon;
  key: string;
  /** The right without which the page shows nothing. */
  right?: string;
}

/** What the server shows outside of the application. */
export const REFERENCE = { href: '/docs', label: 'API reference', icon: BookOpen };

export interface PageGroup {
  label: string | null;
  pages: PageEntry[];
  outside?: typeof REFERENCE;
}

export const PAGE_GROUPS: PageGroup[] = [
  {
    label: null,
    pages: [
      { to: '/', label: 'Overview', icon: LayoutDashboard, key: 'o' },
      { to: '/messages', label: 'Messages', icon: Mail, key: 'm', right: 'read:messages' },
      { to: '/test-inbox', label: 'Test inbox', icon: Inbox, key: 'i', right: 'read:messages' },
    ],
  },
  {
    label: 'Content',
    pages: [
      { to: '/templates', label: 'Templates', icon: FileCode2, key: 't', right: 'read:templates' },
      { to: '/contacts', label: 'Contacts', icon: BookUser, key: 'c', right: 'read:contacts' },
    ],
  },
  {
    label: 'Delivery',
    pages: [
      { to: '/domains', label: 'Domains', icon: AtSign, key: 'd', right: 'read:domains' },
      {
        to: '/suppressions',
        label: 'Suppressions',
        icon: Ban,
        key: 's',
        right: 'read:suppressions',
      },
    ],
  },
  {
    label: 'Developers',
    outside: REFERENCE,
    pages: [
      { to: '/api-keys', label: 'API keys', icon: KeyRound, key: 'k', right: 'read:api_keys' },
      { to: '/webhooks', label: 'Webhooks', icon: Webhook, key: 'w', right: 'read:webhooks' },
      { to: '/events', label: 'Events', icon: Activity, key: 'e', right: 'read:events' },
    ],
  },
  {
    label: 'Workspace',
    pages: [
      { to: '/team', label: 'Team', icon: Users, key: 'p', right: 'read:members' },
      { to: '/settings', label: 'Settings', icon: Settings, key: ',' },
    ],
  },
];

export const PAGES: PageEntry[] = PAGE_GROUPS.flatMap(({ pages }) => pages);
