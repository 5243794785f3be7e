import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { FileUp } from 'lucide-react';
import { useEffect, useState } from 'react';
import { fetchRaw, type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { formatBytes, formatCount, formatNumber } from '../../lib/format.ts';

const POLL_MS = 700;

/** Uploads a file, which the server imports in the background, and shows the report. */
export function ImportContacts({ onClose }: { onClose: () => void }) {
  const { selection } = useApi();
  const [file, setFile] = useState<File>();
  const uploading = useMutation({
    mutationFn: async (chosen: File) => {
      const response = await fetchRaw(selection, '/api/v1/contacts/import', {
        method: 'POST',
        headers: { 'content-type': contentTypeOf(chosen.name) },
        body: chosen,
      });
      return (await response.json()) as Schema<'ContactImport'>;
    },
  });
  if (uploading.data) return <Progress id={uploading.data.id} onClose={onClose} />;
  return (
    <Dialog
      title="Import contacts"
      description="Existing contacts are updated, new ones created. Invalid rows are reported; all other rows are still imported."
      onClose={onClose}
    >
      <DialogForm
        saving={{ ...uploading, mutate: () => file && uploading.mutate(file) }}
        submitLabel="Import"
        disabled={!file}
        onClose={onClose}
      >
        <label
          // Without this, browsers navigate to a dropped file.
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            setFile(event.dataTransfer.files[0] ?? file);
          }}
          className="flex cursor-pointer flex-col items-center gap-1 rounded-xl border border-dashed border-line-strong px-4 py-8 text-center text-sm hover:border-faint has-focus-visible:outline-2 has-focus-visible:outline-(--accent-ring)"
        >
          <FileUp className="size-6 text-faint" aria-hidden />
          <span className="font-medium">{file ? file.name : 'Choose a file or drop it here'}</span>
          <span className="text-xs text-faint">
            {file ? formatBytes(file.size) : 'CSV with a header row, or NDJSON'}
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
      </DialogForm>
    </Dialog>
  );
}

function contentTypeOf(name: string): string {
  return /\.csv$/i.test(name) ? 'text/csv' : 'application/x-ndjson';
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, key } = useApi();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: key('import', id),
    queryFn: () =>
      unwrap(api.GET('/api/v1/imports/{id}', { params: { path: { id }, query: { limit: 50 } } })),
    refetchInterval: ({ state }) => (isFinished(state.data?.status) ? false : POLL_MS),
  });
  const report = query.data;
  const finished = isFinished(report?.status);
  useEffect(() => {
    if (finished) void queries.invalidateQueries({ queryKey: ['contacts'] });
  }, [finished, queries]);
  const share = report && report.bytes_total > 0 ? report.bytes_done / report.bytes_total : 0;
  return (
    <Dialog title={finished ? 'Import finished' : 'Importing'} onClose={onClose}>
      {query.isError && <ErrorAlert error={query.error} />}
      <progress
        className="progress w-full"
        aria-label="Import progress"
        max={1}
        value={finished ? 1 : share}
      />
      {report && (
        <div className="mt-4 grid gap-4">
          <dl className="grid grid-cols-2 gap-3 text-center sm:grid-cols-4">
            <Figure name="Created" value={report.created} />
            <Figure name="Updated" value={report.updated} />
            <Figure name="Unchanged" value={report.unchanged} />
            <Figure name="Failed" value={report.failed} bad={report.failed > 0} />
          </dl>
          {report.status === 'failed' && (
            <Alert tone="bad" title="The import stopped with an error">
              <p>The rows counted here were imported. Import the file again to continue.</p>
            </Alert>
          )}
          {report.failures.length > 0 && <Failures report={report} />}
        </div>
      )}
      <DialogButtons>
        <Button kind={finished ? 'primary' : 'plain'} onClick={onClose}>
          {finished ? 'Done' : 'Run in background'}
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function isFinished(status: string | undefined): boolean {
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
    <section aria-label="Failed rows">
      <h3 className="mb-1 text-sm font-semibold">
        {formatCount(report.failed, 'row')} failed
        {report.failures.length < report.failed && ` (first ${report.failures.length} shown)`}
      </h3>
      <ul className="max-h-60 divide-y divide-line overflow-y-auto rounded-lg border border-line text-sm">
        {report.failures.map(({ line, field, detail }) => (
          <li key={`${line} ${field}`} className="flex gap-3 px-3 py-1.5">
            <span className="w-16 shrink-0 text-faint">Line {line}</span>
            <span className="min-w-0 break-words">
              {field && <code className="font-mono text-xs">{field.replace('/', '')}</code>}{' '}
              {detail}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
