import { useQuery } from '@tanstack/react-query';
import { Archive, Paperclip } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmailPreview } from '../../components/email-preview.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { formatBytes } from '../../lib/format.ts';

export function MessageContentTabs({ messageId }: { messageId: string }) {
  const { api, key } = useApi();
  const [selected, setSelected] = useState<string>();
  const content = useQuery({
    queryKey: key('message', messageId, 'content'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/messages/{id}/content', { params: { path: { id: messageId } } })),
    staleTime: 60_000,
  });
  if (content.isPending) return <SkeletonRows rows={5} />;
  if (content.isError) {
    if (toProblem(content.error).status !== 404) return <ErrorAlert error={content.error} />;
    return (
      <EmptyState icon={Archive} title="Content deleted">
        Message content is deleted after its retention period. The message record is kept longer.
      </EmptyState>
    );
  }
  const { html, text, headers, attachments } = content.data;
  const textTab = {
    id: 'text',
    label: 'Text',
    content: <CodeBlock code={text} label="text part" wrap />,
  };
  const htmlTabs = [
    { id: 'html', label: 'Preview', content: <EmailPreview html={html} /> },
    textTab,
    {
      id: 'source',
      label: 'Source',
      content: <CodeBlock code={html} label="HTML source" language="html" wrap />,
    },
  ];
  return (
    <Tabs
      label="Content views"
      value={selected ?? (html === '' ? 'text' : 'html')}
      onChange={setSelected}
      tabs={[
        ...(html === '' ? [textTab] : htmlTabs),
        { id: 'headers', label: 'Headers', content: <Headers headers={headers} /> },
        ...(attachments.length > 0
          ? [
              {
                id: 'attachments',
                label: `Attachments (${attachments.length})`,
                content: <Attachments attachments={attachments} />,
              },
            ]
          : []),
      ]}
    />
  );
}

export function Headers({ headers }: { headers: { name: string; value: string }[] }) {
  return (
    <dl className="grid grid-cols-[minmax(7rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 font-mono text-xs leading-5">
      {headers.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header may occur twice.
        <div key={index} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className="min-w-0 break-words whitespace-pre-wrap">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Attachments({
  attachments,
}: {
  attachments: Schema<'MessageContent'>['attachments'];
}) {
  return (
    <ul className="grid gap-2">
      {attachments.map(({ filename, content_type, content_id, size_bytes }, index) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same name.
          key={index}
          className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line px-3 py-2 text-sm"
        >
          <Paperclip className="size-4 shrink-0 text-faint" aria-hidden />
          <span className="min-w-0 flex-1 basis-40 font-medium break-words">{filename}</span>
          {content_id && <code className="font-mono text-xs text-faint">cid:{content_id}</code>}
          <span className="text-xs text-faint">{content_type}</span>
          <span className="text-xs text-faint">{formatBytes(size_bytes)}</span>
        </li>
      ))}
    </ul>
  );
}
