import { Download } from 'lucide-react';
import { useState } from 'react';
import { fetchRaw } from '../api/client.ts';
import { showErrorToast } from '../layout/toasts.tsx';
import { downloadFile } from '../lib/download-file.ts';
import { useSelection } from '../session/selection.ts';
import { Button } from './button.tsx';
import { Menu, MenuItem } from './menu.tsx';

const FORMATS = { csv: 'CSV for spreadsheets', ndjson: 'NDJSON for programs' } as const;

/** Downloads everything that matches the filters, not only the rows on screen. */
export function ExportMenu({
  list,
  filters,
}: {
  list: 'messages' | 'events' | 'suppressions';
  /** The query of the list. */
  filters: Readonly<Record<string, string>>;
}) {
  const selection = useSelection();
  const [busy, setBusy] = useState(false);
  const download = async (format: keyof typeof FORMATS) => {
    setBusy(true);
    try {
      const query = new URLSearchParams({ ...filters, format });
      const response = await fetchRaw(selection, `/api/v1/${list}/export?${query}`);
      downloadFile(await response.blob(), `${list}.${format}`);
    } catch (error) {
      showErrorToast(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Menu
      trigger={
        <Button icon={Download} busy={busy}>
          <span className="max-sm:sr-only">Export</span>
        </Button>
      }
    >
      {(['csv', 'ndjson'] as const).map((format) => (
        <MenuItem key={format} onSelect={() => void download(format)}>
          {FORMATS[format]}
        </MenuItem>
      ))}
    </Menu>
  );
}
