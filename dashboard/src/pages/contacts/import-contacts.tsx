import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { FileUp } from 'lucide-react';
import { useEffect, useState } from 'react';
import { unwrap, fetchRaw, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { formatCount, formatNumber, formatBytes } from '../../lib/format.ts';

const POLL_MS = 700;

/** A file goes up, is worked off on the server, and its report comes back line by line. */
export function ImportContacts({ onClose }: { onClose: () => void }) {
  const { selection: place } = useApi();
  const [file, setFile] = useState<File>();
  const uploading = useMutation({
    mutationFn: async (chosen: File) => {
      const answer = await fetchRaw(place, '/api/v1/contacts/import', {
        method: 'POST',
        headers: { 'content-type': typeOf(chosen.name) },
        body: chosen,
      });
      return (await answer.json()) as Schema<'ContactImport'>;
    },
  });
  if (uploading.data) return <Progress id={uploading.data.id} onClose={onClose} />;
  return (
    <Dialog
      title="Import contacts"
      description="Contacts that exist are changed, others are made. A line that is wrong is reported and hurts no other."
      onClose={onClose}
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (file) uploading.mutate(file);
        }}
      >
        <label
          // A browser leaves the page for a file that is dropped where nothing takes it.
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            setFile(event.dataTransfer.files[0] ?? file);
          }}
          className="flex cursor-pointer flex-col items-center gap-1 rounded-xl border border-dashed border-line-strong px-4 py-8 text-center text-sm hover:border-faint has-focus-visible:outline-2 has-focus-visible:outline-(--accent-ring)"
        >
          <FileUp className="size-6 text-faint" aria-hidden />
          <span className="font-medium">{file ? file.name : 'Choose a file, or drop it here'}</span>
          <span className="text-xs text-faint">
            {file ? formatBytes(file.size) : 'CSV with a header line, or NDJSON'}
          </span>
          <input
            type="file"
            accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson"
            className="sr-only"
            onChange={(event) => setFile(event.target.files?.[0])}
          />
        </label>
        <CodeBlock
          label="example file"
          code={'email,first_name,plan\njane@example.com,Jane,pro\npeter@example.com,Peter,free'}
        />
        {uploading.isError && <ErrorAlert error={uploading.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!file} busy={uploading.isPending}>
            Import
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function typeOf(name: string): string {
  return /\.csv$/i.test(name) ? 'text/csv' : 'application/x-ndjson';
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, key } = useApi();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: key('import', id),
    queryFn: () =>
      unwrap(api.GET('/api/v1/imports/{id}', { params: { path: { id }, query: { limit: 50 } } })),
    refetchInterval: ({ state }) => (isOver(state.data?.status) ? false : POLL_MS),
  });
  const report = query.data;
  const over = isOver(report?.status);
  useEffect(() => {
    if (over) void queries.invalidateQueries({ queryKey: ['contacts'] });
  }, [over, queries]);
  const share = report && report.bytes_total > 0 ? report.bytes_done / report.bytes_total : 0;
  return (
    <Dialog title={over ? 'Import finished' : 'Importing'} onClose={onClose}>
      {query.isError && <ErrorAlert error={query.error} />}
      <progress
        className="progress w-full"
        aria-label="Progress of the import"
        max={1}
        value={over ? 1 : share}
      />
      {report && (
        <div className="mt-4 grid gap-4">
          <dl className="grid grid-cols-2 gap-3 text-center sm:grid-cols-4">
            <Figure name="made" value={report.created} />
            <Figure name="changed" value={report.updated} />
            <Figure name="as they were" value={report.unchanged} />
            <Figure name="failed" value={report.failed} bad={report.failed > 0} />
          </dl>
          {report.status === 'failed' && (
            <Alert tone="bad" title="Something broke on our side">
              <p>What is counted here is done. Import the file again: it goes on from there.</p>
            </Alert>
          )}
          {report.failures.length > 0 && <Failures report={report} />}
        </div>
      )}
      <DialogButtons>
        <Button kind={over ? 'primary' : 'plain'} onClick={onClose}>
          {over ? 'Done' : 'Go on in the background'}
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function isOver(status: string | undefined): boolean {
  return status === 'finished' || status === 'failed';
}

function Figure({ name, value, bad }: { name: string; value: number; bad?: boolean }) {
  return (
    <div className="rounded-lg bg-sunken px-2 py-2">
      <dd className={bad ? 'text-lg font-semibold text-bad' : 'text-lg font-semibold'}>
        {formatNumber(value)}
      </dd>
      <dt className="text-xs text-soft">{name}</dt>
    </div>
  );
}

function Failures({ report }: { report: Schema<'ContactImportReport'> }) {
  return (
    <section aria-label="Lines that failed">
      <h3 className="mb-1 text-sm font-semibold">
        {formatCount(report.failed, 'line', 'lines')} failed
        {report.failures.length < report.failed && `, the first ${report.failures.length} of them`}
      </h3>
      <ul className="max-h-60 divide-y divide-line overflow-y-auto rounded-lg border border-line text-sm">
        {report.failures.map(({ line, field, detail }) => (
          <li key={`${line} ${field}`} className="flex gap-3 px-3 py-1.5">
            <span className="w-16 shrink-0 text-faint">line {line}</span>
            <span className="min-w-0 break-words">
              {field && <code className="font-mono text-xs">{field}</code>} {detail}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
