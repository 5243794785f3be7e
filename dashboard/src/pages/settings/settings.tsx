import { useNavigate, useSearch } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { AccountSettings } from './account.tsx';
import { LimitsView } from './limits.tsx';
import { SessionList } from './sessions.tsx';
import { WorkspaceSettings } from './workspace.tsx';

export function SettingsPage() {
  const { tab = 'account' } = useSearch({ from: '/inside/settings' });
  const navigate = useNavigate();
  return (
    <Page title="Settings">
      <Tabs
        label="Settings"
        value={tab}
        onChange={(next) =>
          void navigate({ to: '/settings', search: { tab: next }, replace: true })
        }
        tabs={[
          { id: 'account', label: 'Your account', content: <AccountSettings /> },
          { id: 'sessions', label: 'Sessions', content: <SessionList /> },
          { id: 'workspace', label: 'Workspace', content: <WorkspaceSettings /> },
          { id: 'limits', label: 'Limits', content: <LimitsView /> },
        ]}
      />
    </Page>
  );
}
