import { ListFilter, X } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Field, Select, TextInput } from '../../components/field.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { capitalize } from '../../lib/format.ts';
import { groupLabel, PROVIDERS } from '../overview/group-labels.ts';
import type { MessageFilters } from './use-messages.ts';

const STATUSES = [
  'scheduled',
  'queued',
  'deferred',
  'delivered',
  'bounced',
  'expired',
  'failed',
  'cancelled',
  'suppressed',
  'partial',
];

const MORE_FILTERS = ['recipient', 'receiver', 'domain', 'tag', 'template', 'metadata'] as const;

const NAMES: Partial<Record<(typeof MORE_FILTERS)[number], string>> = {
  domain: 'from',
  receiver: 'provider',
};

export function MessageFilterBar({
  filters,
  onChange,
}: {
  filters: MessageFilters;
  onChange: (next: MessageFilters) => void;
}) {
  return (
    <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
      <SearchInput
        label="Search subjects and addresses"
        value={filters.q ?? ''}
        onChange={(q) => onChange({ ...filters, q })}
      />
      <div className="w-32 sm:w-36">
        <Select
          aria-label="Status"
          value={filters.status ?? ''}
          onChange={(event) => onChange({ ...filters, status: event.target.value })}
        >
          <option value="">Any status</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {capitalize(status)}
            </option>
          ))}
        </Select>
      </div>
      <div className="w-32 sm:w-36">
        <Select
          aria-label="Time"
          value={filters.since ?? ''}
          onChange={(event) => onChange({ ...filters, since: event.target.value })}
        >
          <option value="">Any time</option>
          <option value="1h">Last hour</option>
          <option value="24h">Last 24 hours</option>
          <option value="7d">Last 7 days</option>
          <option value="30d">Last 30 days</option>
        </Select>
      </div>
      <MoreFilters filters={filters} onChange={onChange} />
      {MORE_FILTERS.filter((name) => filters[name]).map((name) => (
        <button
          key={name}
          type="button"
          title="Remove this filter"
          onClick={() => onChange({ ...filters, [name]: '' })}
          className="inline-flex h-7 items-center gap-1 rounded-full bg-accent-wash pr-1.5 pl-2.5 text-xs font-medium text-accent-ink"
        >
          {capitalize(NAMES[name] ?? name)}: {groupLabel(name, filters[name] ?? '')}
          <X className="size-3.5" aria-hidden />
        </button>
      ))}
    </search>
  );
}

function MoreFilters({
  filters,
  onChange,
}: {
  filters: MessageFilters;
  onChange: (next: MessageFilters) => void;
}) {
  const [open, setOpen] = useState(false);
  const [draft, setDraft] = useState<MessageFilters>({});
  const providers = useId();
  const set = (name: (typeof MORE_FILTERS)[number]) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value });
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next) => {
        setDraft(filters);
        setOpen(next);
      }}
    >
      <Popover.Trigger asChild>
        <Button icon={ListFilter}>Filters</Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={12}
          aria-label="More filters"
          className="pop z-40 max-h-(--radix-popover-content-available-height) w-72 overflow-y-auto rounded-xl border border-line bg-raised p-4 shadow-pop"
        >
          <form
            className="grid gap-3"
            onSubmit={(event) => {
              event.preventDefault();
              setOpen(false);
              onChange({ ...filters, ...draft });
            }}
          >
            <Field label="Recipient">
              <TextInput
                value={draft.recipient ?? ''}
                onChange={set('recipient')}
                placeholder="jane@example.com"
              />
            </Field>
            <Field label="Mailbox provider" hint="A provider (google) or a recipient domain.">
              <TextInput
                value={draft.receiver ?? ''}
                onChange={set('receiver')}
                placeholder="google or example.com"
                list={providers}
              />
              <datalist id={providers}>
                {Object.entries(PROVIDERS).map(([provider, label]) => (
                  <option key={provider} value={provider} label={label} />
                ))}
              </datalist>
            </Field>
            <Field label="Sender domain">
              <TextInput
                value={draft.domain ?? ''}
                onChange={set('domain')}
                placeholder="yourdomain.com"
              />
            </Field>
            <Field label="Tag">
              <TextInput value={draft.tag ?? ''} onChange={set('tag')} placeholder="welcome" />
            </Field>
            <Field label="Template">
              <TextInput value={draft.template ?? ''} onChange={set('template')} />
            </Field>
            <Field label="Metadata" hint="key=value">
              <TextInput
                value={draft.metadata ?? ''}
                onChange={set('metadata')}
                placeholder="order_id=1234"
              />
            </Field>
            <Button type="submit" kind="primary">
              Apply{' '}
            </Button>
          </form>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
