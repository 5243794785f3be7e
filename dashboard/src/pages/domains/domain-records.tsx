import { CircleAlert, CircleCheck, CircleDashed, CircleX } from 'lucide-react';
import { useState } from 'react';
import type { Schema } from '../../api/client.ts';
import { Badge } from '../../components/badge.tsx';
import { CopyIconButton } from '../../components/copy.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { classNames } from '../../lib/class-names.ts';
import type { Domain } from './domains.tsx';

type DomainRecord = Schema<'DomainRecord'>;

/** The DNS records to publish, what was found, and what is wrong. */
export function DomainRecords({ domain }: { domain: Domain }) {
  const [relative, setRelative] = useState(false);
  const nameOf = ({ name }: DomainRecord) => (relative ? withoutDomain(name, domain.name) : name);
  const required = domain.records.filter((record) => record.required);
  const others = domain.records.filter((record) => !record.required);
  return (
    <>
      <Section
        title="DNS records"
        description="All of these records are required to send."
        actions={
          <Checkbox
            label="My DNS provider appends the domain automatically"
            checked={relative}
            onChange={setRelative}
          />
        }
      >
        <RecordList records={required} nameOf={nameOf} />
      </Section>
      {others.length > 0 && (
        <Section title="Recommended" description="Optional, but improves deliverability.">
          <RecordList records={others} nameOf={nameOf} />
        </Section>
      )}
    </>
  );
}

function RecordList({
  records,
  nameOf,
}: {
  records: DomainRecord[];
  nameOf: (record: DomainRecord) => string;
}) {
  return (
    <ul className="-my-1 divide-y divide-line">
      {records.map((record) => (
        <RecordCard
          key={`${record.type} ${record.name} ${record.value}`}
          record={record}
          name={nameOf(record)}
        />
      ))}
    </ul>
  );
}

const STATES = {
  found: { icon: CircleCheck, tone: 'text-good', label: 'Found' },
  missing: { icon: CircleX, tone: 'text-bad', label: 'Missing' },
  wrong: { icon: CircleX, tone: 'text-bad', label: 'Wrong' },
  pending: { icon: CircleDashed, tone: 'text-faint', label: 'Not checked' },
  lookup_failed: { icon: CircleAlert, tone: 'text-warn', label: 'DNS lookup failed' },
} as const;

function RecordCard({ record, name }: { record: DomainRecord; name: string }) {
  const { icon: Icon, tone, label } = STATES[record.status];
  const showFound = record.found.length > 0 && record.status !== 'found';
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
        <Icon className={classNames('size-4 shrink-0', tone)} aria-hidden />
        <span className={classNames('font-medium', tone)}>{label}</span>
        <Badge>{record.type}</Badge>
        <span className="text-soft">{record.explanation}</span>
      </div>
      <dl className="grid grid-cols-[3.5rem_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1 rounded-lg bg-sunken px-3 py-2">
        <RecordLine label="Name" text={name} />
        <RecordLine label="Value" text={record.value} />
        {showFound &&
          record.found.map((text) => <RecordLine key={text} label="Found" text={text} bad />)}
      </dl>
      {record.mistakes.map(({ code, detail }) => (
        <p
          key={code}
          className={classNames(
            'flex gap-1.5 text-sm',
            record.status === 'found' ? 'text-warn' : 'text-bad',
          )}
        >
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 break-words">{detail}</span>
        </p>
      ))}
    </li>
  );
}

function RecordLine({ label, text, bad }: { label: string; text: string; bad?: boolean }) {
  return (
    <div className="contents">
      <dt className="pt-1.5 text-xs text-faint">{label}</dt>
      <dd className={classNames('pt-1.5 font-mono text-xs leading-4 break-all', bad && 'text-bad')}>
        {text}
      </dd>
      <dd>{!bad && <CopyIconButton text={text} label={`Copy ${label.toLowerCase()}`} />}</dd>
    </div>
  );
}

function withoutDomain(name: string, domain: string): string {
  if (name === domain) return '@';
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : name;
}
