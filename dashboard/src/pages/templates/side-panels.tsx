import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react';
import { useRef, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmailPreview } from '../../components/email-preview.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { type Tab, Tabs } from '../../components/tabs.tsx';
import { formatBytes } from '../../lib/format.ts';
import type { ContentKind, Finding, Rendered, TemplateVariable } from './content-api.ts';
import { SenderPanel } from './sender-panel.tsx';
import type { Checks } from './use-checks.ts';
import type { Draft } from './use-draft.ts';
import { VariablesPanel } from './variables-panel.tsx';
import { VersionsPanel } from './versions-panel.tsx';

/** The panels next to the editor: preview, variables, checks and versions. */
export function SidePanels({
  kind,
  draft,
  checks,
  locale,
}: {
  kind: ContentKind;
  draft: Draft;
  checks: Checks;
  locale: string | null;
}) {
  const [tab, setTab] = useState('preview');
  const variables = useLastKnownVariables(draft, checks);
  const count = checks.errors.length + checks.warnings.length;
  const tabs: Tab[] = [
    {
      id: 'preview',
      label: 'Preview',
      content:
        kind === 'template' ? (
          <RenderedPreview draft={draft} locale={locale} />
        ) : (
          <EmailPreview html={withPlaceholder(draft.fields.html)} />
        ),
    },
    ...(kind === 'template'
      ? [
          {
            id: 'variables',
            label: 'Variables',
            content: <VariablesPanel draft={draft} variables={variables} />,
          },
          {
            id: 'checks',
            label: (
              <span className="flex items-center gap-1.5">
                Checks
                {count > 0 && (
                  <Badge tone={checks.errors.length > 0 ? 'bad' : 'warn'}>{count}</Badge>
                )}
              </span>
            ),
            content: <ChecksPanel checks={checks} />,
          },
          { id: 'sender', label: 'Sender', content: <SenderPanel draft={draft} /> },
        ]
      : []),
    {
      id: 'versions',
      label: 'Versions',
      content: <VersionsPanel kind={kind} draft={draft} />,
    },
  ];
  return (
    <div className="px-4 pt-1 pb-8 sm:px-6">
      <Tabs label="Template panels" value={tab} onChange={setTab} tabs={tabs} />
    </div>
  );
}

/** Variables cannot be inferred during a syntax error; the last known ones are shown instead. */
function useLastKnownVariables({ stored }: Draft, { errors, current }: Checks): TemplateVariable[] {
  const known = useRef(stored.variables);
  if (current && !errors.some(({ code }) => code === 'template_syntax')) {
    known.current = stored.variables;
  }
  return known.current;
}

function withPlaceholder(html: string): string {
  const box =
    '<div style="border:2px dashed #bbb;padding:40px;text-align:center;color:#888">content</div>';
  return html.replaceAll(/\{\{\s*content\s*\}\}/g, box);
}

/** Rendered on the server with example values, after every save. */
function RenderedPreview({ draft, locale }: { draft: Draft; locale: string | null }) {
  const { api, key } = useApi();
  const rendered = useQuery({
    queryKey: key('template-render', draft.stored.key, draft.saves, locale),
    queryFn: () =>
      unwrap(
        api.POST('/api/v1/templates/{key}/render', {
          params: { path: { key: draft.stored.key } },
          body: { version: 'draft', ...(locale === null ? {} : { locale }) },
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <div className="grid gap-3">
      {rendered.isError && <ErrorAlert error={rendered.error} />}
      {rendered.data ? (
        <RenderedEmail rendered={rendered.data} />
      ) : (
        rendered.isPending && <SkeletonRows rows={4} />
      )}
    </div>
  );
}

function RenderedEmail({ rendered }: { rendered: Rendered }) {
  const [view, setView] = useState<'html' | 'text' | 'source'>('html');
  return (
    <>
      {rendered.missing.length > 0 && (
        <Alert tone="warn" title="This would fail to send">
          <ul className="list-disc pl-4">
            {rendered.missing.map(({ path, detail }) => (
              <li key={path}>{detail}</li>
            ))}
          </ul>
        </Alert>
      )}
      <div className="rounded-lg border border-line px-3 py-2 text-sm">
        <span className="text-faint">Subject </span>
        <span className="font-medium break-words">{rendered.subject}</span>
      </div>
      <div className="flex items-center gap-3 text-xs text-faint">
        {(['html', 'text', 'source'] as const).map((value) => (
          <button
            key={value}
            type="button"
            aria-pressed={view === value}
            onClick={() => setView(value)}
            className={view === value ? 'font-medium text-ink' : 'hover:text-ink'}
          >
            {{ html: 'Email', text: 'Text', source: 'Source' }[value]}
          </button>
        ))}
        <span className="ml-auto">{formatBytes(rendered.size_bytes)}</span>
      </div>
      {view === 'html' && <EmailPreview html={rendered.html} />}
      {view === 'text' && <CodeBlock code={rendered.text} label="text part" wrap />}
      {view === 'source' && (
        <CodeBlock code={rendered.html} label="HTML source" language="html" wrap />
      )}
    </>
  );
}

function ChecksPanel({ checks: { errors, warnings } }: { checks: Checks }) {
  if (errors.length + warnings.length === 0) {
    return (
      <p className="flex items-center gap-2 text-sm text-good">
        <CircleCheck className="size-4" aria-hidden />
        Ready to publish.
      </p>
    );
  }
  return (
    <ul className="grid gap-2">
      {errors.map((finding) => (
        <FindingLine key={keyOf(finding)} finding={finding} bad />
      ))}
      {warnings.map((finding) => (
        <FindingLine key={keyOf(finding)} finding={finding} />
      ))}
    </ul>
  );
}

function keyOf({ code, field, line, column }: Finding): string {
  return `${code} ${field} ${line}:${column}`;
}

function FindingLine({ finding, bad }: { finding: Finding; bad?: boolean }) {
  const Icon = bad ? CircleX : TriangleAlert;
  return (
    <li className="flex gap-2.5 rounded-lg border border-line px-3 py-2 text-sm">
      <Icon
        className={bad ? 'mt-0.5 size-4 shrink-0 text-bad' : 'mt-0.5 size-4 shrink-0 text-warn'}
        aria-hidden
      />
      <div className="min-w-0">
        <p className="break-words">{finding.message}</p>
        <p className="font-mono text-xs text-faint">
          {finding.field}, line {finding.line}, column {finding.column}
        </p>
      </div>
    </li>
  );
}
