import { useQuery } from '@tanstack/react-query';
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleX,
  Download,
  ExternalLink,
} from 'lucide-react';
import { Fragment, useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton, CopyIconButton } from '../../components/copy.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { classNames } from '../../lib/class-names.ts';
import { downloadFile } from '../../lib/download-file.ts';
import { useMediaQuery } from '../../lib/use-media-query.ts';
import { DNS_PROVIDERS } from './dns-providers.ts';
import type { Domain } from './domains.tsx';
import { RECORD_TTL_SECONDS, relativeName, splitValue, zoneFile } from './zone-file.ts';

type DomainRecord = Schema<'DomainRecord'>;

/** The DNS records to publish, where to publish them, what was found, and what is wrong. */
export function DomainRecords({ domain }: { domain: Domain }) {
  const zone = useDnsZone(domain.id);
  const provider = DNS_PROVIDERS[zone.data?.provider ?? ''];
  const [chosen, setRelative] = useState<boolean>();
  const relative = chosen ?? provider?.appendsZone ?? false;
  const wide = useMediaQuery('(min-width: 48rem)');
  const required = domain.records.filter((record) => record.required);
  const records = [
    ...required,
    ...domain.records.filter((record) => groupOf(record) === 'Recommended'),
    ...domain.records.filter((record) => groupOf(record) === 'To receive mail'),
  ];
  const rows = records.map((record) => ({
    record,
    name: relative ? relativeName(record.name, zone.data?.zone ?? domain.name) : record.name,
    ...splitValue(record),
  }));
  const file = zoneFile(records);
  return (
    <Section
      title="DNS records"
      description={`${required.length} are required to send. The others improve deliverability.`}
      actions={
        <span className="flex flex-wrap gap-2">
          <CopyButton text={file}>Copy all</CopyButton>
          <Button
            icon={Download}
            onClick={() =>
              downloadFile(new Blob([file], { type: 'text/plain' }), `${domain.name}.zone`)
            }
          >
            Zone file
          </Button>
        </span>
      }
    >
      <div className="mb-4 grid gap-2">
        <ProviderHint zone={zone.data} isPending={zone.isPending} />
        <Checkbox
          label="My DNS provider appends the domain automatically"
          checked={relative}
          onChange={setRelative}
        />
      </div>
      {wide ? (
        <RecordTable rows={rows} />
      ) : (
        <ul aria-label="DNS records" className="-my-1 divide-y divide-line">
          {rows.map((row) => (
            <RecordCard key={keyOf(row.record)} row={row} />
          ))}
        </ul>
      )}
    </Section>
  );
}

/** What an optional record is for; null for those that are required to send. */
function groupOf({ required, purpose }: DomainRecord): string | null {
  if (required) return null;
  return purpose === 'receiving' ? 'To receive mail' : 'Recommended';
}

function useDnsZone(id: string) {
  const { api, key } = useApi();
  return useQuery({
    queryKey: key('dns-zone', id),
    queryFn: () => unwrap(api.GET('/api/v1/domains/{id}/dns-zone', { params: { path: { id } } })),
    staleTime: 300_000,
    retry: false,
  });
}

/** One line while it is looked up and for an unknown provider, so that the table does not move. */
function ProviderHint({
  zone,
  isPending,
}: {
  zone: Schema<'DnsZone'> | undefined;
  isPending: boolean;
}) {
  if (isPending) return <p className="text-sm text-faint">Looking up your DNS provider…</p>;
  const provider = DNS_PROVIDERS[zone?.provider ?? ''];
  if (!zone?.zone) {
    return (
      <p className="text-sm text-soft">Add these records where the DNS of the domain is managed.</p>
    );
  }
  if (!provider) {
    return (
      <p className="text-sm break-words text-soft">
        The DNS of {zone.zone} is served by{' '}
        <span className="font-mono text-xs">{zone.name_servers.slice(0, 2).join(', ')}</span>.
      </p>
    );
  }
  return (
    <div className="grid gap-1 rounded-lg bg-sunken px-3 py-2.5 text-sm">
      <p className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <span>
          The DNS of <span className="font-medium">{zone.zone}</span> is managed at{' '}
          <span className="font-medium">{provider.label}</span>.
        </span>
        {provider.url && (
          <a
            href={provider.url(zone.zone)}
            target="_blank"
            rel="noreferrer"
            className="inline-flex items-center gap-1 text-xs font-medium text-accent-ink hover:underline"
          >
            Open DNS settings
            <ExternalLink className="size-3" aria-hidden />
          </a>
        )}
      </p>
      <ul className="list-disc pl-4 text-soft">
        {provider.hints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
    </div>
  );
}

interface Row {
  record: DomainRecord;
  /** As it is entered at the DNS provider. */
  name: string;
  value: string;
  priority: string;
}

function keyOf({ type, name, value }: DomainRecord): string {
  return `${type} ${name} ${value}`;
}

const TTL_LABEL = `${RECORD_TTL_SECONDS / 3600} hour`;

const HEAD =
  'h-8 border-b border-line px-2 text-left text-xs font-medium text-faint first:pl-4 last:pr-4';
const CELL = 'px-2 py-2.5 align-top first:pl-4 last:pr-4';

/** As wide as the section, so that long values have space. */
function RecordTable({ rows }: { rows: readonly Row[] }) {
  return (
    <div className="-mx-4 -mb-4 overflow-x-auto">
      <table
        aria-label="DNS records"
        className="w-full border-collapse border-line border-t text-sm"
      >
        <thead className="bg-sunken">
          <tr>
            <th className={HEAD}>Type</th>
            <th className={HEAD}>Name</th>
            <th className={HEAD}>Value</th>
            <th className={HEAD}>Priority</th>
            <th className={HEAD}>TTL</th>
            <th className={HEAD}>Status</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <Fragment key={keyOf(row.record)}>
              {groupOf(row.record) !== null && groupOf(row.record) !== groupAt(rows, index - 1) && (
                <tr>
                  <th
                    colSpan={6}
                    scope="rowgroup"
                    className="h-8 border-line border-t bg-sunken pl-4 text-left text-xs font-medium text-faint"
                  >
                    {groupOf(row.record)}
                  </th>
                </tr>
              )}
              <RecordRow row={row} />
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function groupAt(rows: readonly Row[], index: number): string | null {
  const row = rows[index];
  return row ? groupOf(row.record) : null;
}

function RecordRow({ row: { record, name, value, priority } }: { row: Row }) {
  const remarks = remarksOf(record);
  return (
    <>
      <tr className="border-line border-t first:border-t-0">
        <td className={CELL}>
          <Badge>{record.type}</Badge>
        </td>
        <td className={classNames(CELL, 'w-2/5')}>
          <CopyableText text={name} label="Copy name" />
          <p className="mt-0.5 text-xs text-faint">{record.explanation}</p>
        </td>
        <td className={classNames(CELL, 'w-2/5')}>
          <CopyableText text={value} label="Copy value" />
        </td>
        <td className={classNames(CELL, 'text-soft tabular-nums')}>{priority || '–'}</td>
        <td className={classNames(CELL, 'whitespace-nowrap text-soft')}>{TTL_LABEL}</td>
        <td className={classNames(CELL, 'whitespace-nowrap')}>
          <RecordStatus record={record} />
        </td>
      </tr>
      {remarks && (
        <tr>
          <td colSpan={6} className="px-4 pb-3">
            {remarks}
          </td>
        </tr>
      )}
    </>
  );
}

/** Two lines of it; the rest of a long key is not read by anyone. */
function CopyableText({ text, label }: { text: string; label: string }) {
  return (
    <span className="flex items-start gap-1">
      <span title={text} className="line-clamp-2 min-w-0 font-mono text-xs leading-5 break-all">
        {text}
      </span>
      <span className="-my-1 ml-auto">
        <CopyIconButton text={text} label={label} />
      </span>
    </span>
  );
}

const STATES = {
  found: { icon: CircleCheck, tone: 'text-good', label: 'Found' },
  missing: { icon: CircleX, tone: 'text-bad', label: 'Missing' },
  wrong: { icon: CircleX, tone: 'text-bad', label: 'Wrong' },
  pending: { icon: CircleDashed, tone: 'text-faint', label: 'Not checked' },
  lookup_failed: { icon: CircleAlert, tone: 'text-warn', label: 'DNS lookup failed' },
} as const;

function RecordStatus({ record }: { record: DomainRecord }) {
  const { icon: Icon, tone, label } = STATES[record.status];
  return (
    <span className={classNames('inline-flex items-center gap-1.5 font-medium', tone)}>
      <Icon className="size-4 shrink-0" aria-hidden />
      {label}
    </span>
  );
}

/** What was found instead, and why it is wrong; undefined if there is nothing to say. */
function remarksOf(record: DomainRecord) {
  const found = record.status === 'found' ? [] : record.found;
  if (found.length === 0 && record.mistakes.length === 0) return undefined;
  return (
    <div className="grid gap-1.5 rounded-lg bg-sunken px-3 py-2 text-sm">
      {found.map((text) => (
        <p key={text} className="flex gap-2 text-bad">
          <span className="shrink-0 text-xs leading-5 text-faint">Found</span>
          <span className="min-w-0 font-mono text-xs leading-5 break-all">{text}</span>
        </p>
      ))}
      {record.mistakes.map(({ code, detail }) => (
        <p
          key={code}
          className={classNames(
            'flex gap-1.5',
            record.status === 'found' ? 'text-warn' : 'text-bad',
          )}
        >
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 break-words">{detail}</span>
        </p>
      ))}
    </div>
  );
}

/** A record on a phone, where a table does not fit. */
function RecordCard({ row: { record, name, value, priority } }: { row: Row }) {
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
        <RecordStatus record={record} />
        <Badge>{record.type}</Badge>
        {groupOf(record) !== null && <span className="text-xs text-faint">{groupOf(record)}</span>}
      </div>
      <p className="text-sm text-soft">{record.explanation}</p>
      <dl className="grid grid-cols-[4rem_minmax(0,1fr)] items-start gap-x-3 gap-y-1 rounded-lg bg-sunken px-3 py-2">
        <dt className="text-xs leading-5 text-faint">Name</dt>
        <dd>
          <CopyableText text={name} label="Copy name" />
        </dd>
        <dt className="text-xs leading-5 text-faint">Value</dt>
        <dd>
          <CopyableText text={value} label="Copy value" />
        </dd>
        {priority !== '' && (
          <>
            <dt className="text-xs leading-5 text-faint">Priority</dt>
            <dd className="text-xs leading-5">{priority}</dd>
          </>
        )}
        <dt className="text-xs leading-5 text-faint">TTL</dt>
        <dd className="text-xs leading-5">{TTL_LABEL}</dd>
      </dl>
      {remarksOf(record)}
    </li>
  );
}
