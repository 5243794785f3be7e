import { useMutation, useQuery } from '@tanstack/react-query';
import { Archive, Download, FileText, Paperclip } from 'lucide-react';
import { useMemo, useState } from 'react';
import { fetchRaw, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmailPreview, type InlineImages } from '../../components/email-preview.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { formatBytes } from '../../lib/format.ts';
import type { Selection } from '../../session/selection.ts';
import { Headers } from '../messages/message-content.tsx';

type InboundMessage = Schema<'InboundMessage'>;
type Attachment = Schema<'InboundAttachment'>;

export function InboundContent({ message }: { message: InboundMessage }) {
  const [selected, setSelected] = useState<string>();
  const { html, text, headers, attachments } = message;
  if (headers.length === 0) {
    return (
      <EmptyState icon={Archive} title="Content deleted">
        Message content is deleted after its retention period. The message record is kept longer.
      </EmptyState>
    );
  }
  const htmlTabs =
    html === null
      ? []
      : [
          {
            id: 'html',
            label: 'Preview',
            content: <HtmlPreview message={message} html={html} />,
          },
        ];
  const sourceTabs =
    html === null
      ? []
      : [
          {
            id: 'source',
            label: 'Source',
            content: <CodeBlock code={html} label="HTML source" language="html" wrap />,
          },
        ];
  return (
    <Tabs
      label="Content views"
      value={selected ?? (html === null ? 'text' : 'html')}
      onChange={setSelected}
      tabs={[
        ...htmlTabs,
        { id: 'text', label: 'Text', content: <PlainText text={text} hasHtml={html !== null} /> },
        ...sourceTabs,
        { id: 'headers', label: 'Headers', content: <Headers headers={headers} /> },
        ...(attachments.length > 0
          ? [
              {
                id: 'attachments',
                label: `Attachments (${attachments.length})`,
                content: <AttachmentList messageId={message.id} attachments={attachments} />,
              },
            ]
          : []),
      ]}
    />
  );
}

function PlainText({ text, hasHtml }: { text: string | null; hasHtml: boolean }) {
  if (text) return <CodeBlock code={text} label="text part" wrap />;
  return (
    <EmptyState icon={FileText} title={hasHtml ? 'No plain text' : 'No text'}>
      {hasHtml ? 'The sender wrote HTML only.' : 'The message has no text and no HTML.'}
    </EmptyState>
  );
}

function HtmlPreview({ message, html }: { message: InboundMessage; html: string }) {
  const inline = useInlineImages(message, html);
  return <EmailPreview html={html} inline={inline} />;
}

/** Images without scripts of their own. */
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const INLINE_IMAGES_MAX = 20;
const INLINE_IMAGE_BYTES_MAX = 2_000_000;

/** The attached images that the HTML shows, as data URLs; blank until they are loaded. */
function useInlineImages({ id, attachments }: InboundMessage, html: string): InlineImages {
  const { selection, key } = useApi();
  const shown = useMemo(() => inlineImages(attachments, html), [attachments, html]);
  const images = useQuery({
    queryKey: key('inbound-message', id, 'inline-images'),
    queryFn: async () => {
      const found: Record<string, string> = {};
      for (const { index, content_id, content_type } of shown) {
        const file = await fetchAttachment(selection, id, index);
        found[content_id ?? ''] = await dataUrl(file.slice(0, file.size, content_type));
      }
      return found;
    },
    enabled: shown.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const blank = useMemo(
    () => Object.fromEntries(shown.map(({ content_id }) => [content_id, BLANK_IMAGE])),
    [shown],
  );
  return images.data ?? blank;
}

const BLANK_IMAGE =
  'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

function inlineImages(attachments: readonly Attachment[], html: string): Attachment[] {
  const shown = attachments.filter(
    ({ content_id, content_type, size_bytes }) =>
      content_id !== null &&
      IMAGE_TYPES.includes(content_type) &&
      size_bytes <= INLINE_IMAGE_BYTES_MAX &&
      html.includes(`cid:${content_id}`),
  );
  return shown.slice(0, INLINE_IMAGES_MAX);
}

function dataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function AttachmentList({
  messageId,
  attachments,
}: {
  messageId: string;
  attachments: readonly Attachment[];
}) {
  return (
    <ul aria-label="Attachments" className="grid gap-2">
      {attachments.map((attachment) => (
        <AttachmentRow key={attachment.index} messageId={messageId} attachment={attachment} />
      ))}
    </ul>
  );
}

function AttachmentRow({ messageId, attachment }: { messageId: string; attachment: Attachment }) {
  const { selection } = useApi();
  const { index, filename, content_type, content_id, size_bytes } = attachment;
  const name = filename || `attachment-${index}`;
  const downloading = useMutation({
    mutationFn: async () => downloadFile(await fetchAttachment(selection, messageId, index), name),
    onError: showErrorToast,
  });
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line px-3 py-2 text-sm">
      <Paperclip className="size-4 shrink-0 text-faint" aria-hidden />
      <bdi className="min-w-0 flex-1 basis-40 font-medium wrap-anywhere">{name}</bdi>
      {content_id && (
        <code className="min-w-0 font-mono text-xs wrap-anywhere text-faint">cid:{content_id}</code>
      )}
      <span className="min-w-0 text-xs wrap-anywhere text-faint">{content_type}</span>
      <span className="text-xs text-faint">{formatBytes(size_bytes)}</span>
      <Button
        size="small"
        icon={Download}
        aria-label={`Download ${name}`}
        busy={downloading.isPending}
        onClick={() => downloading.mutate()}
      >
        Download
      </Button>
    </li>
  );
}

async function fetchAttachment(
  selection: Selection,
  messageId: string,
  index: number,
): Promise<Blob> {
  const path = `/api/v1/inbound-messages/${messageId}/attachments/${index}`;
  const response = await fetchRaw(selection, path);
  return response.blob();
}
