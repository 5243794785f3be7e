import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { Field, Select, TextInput } from '../../components/field.tsx';
import { FilterChip, FilterPopover } from '../../components/filter-popover.tsx';
import { SavedFilters } from '../../components/saved-filters.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { capitalize } from '../../lib/format.ts';
import { useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { groupLabel, PROVIDERS } from '../overview/group-labels.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import { BOUNCE_REASONS } from './bounce-reasons.ts';
import type { MessageFilters } from './use-messages.ts';

const STATUSES = [
  'scheduled',
  'queued',
  'deferred',
  'delivered',
  'complained',
  'bounced',
  'expired',
  'failed',
  'cancelled',
  'suppressed',
  'partial',
];

const MORE_FILTERS = [
  'recipient',
  'receiver',
  'domain',
  'stream',
  'tag',
  'template',
  'metadata',
  'reason',
  'key',
] as const;

type MoreFilter = (typeof MORE_FILTERS)[number];

const NAMES: Partial<Record<MoreFilter, string>> = {
  domain: 'from',
  receiver: 'provider',
  key: 'API key',
};

/** How the value of a filter is shown. */
function useValueLabel(filters: MessageFilters): (name: MoreFilter) => string {
  const keys = useApiKeys(filters.key !== undefined);
  return (name) => {
    const value = filters[name] ?? '';
    if (name === 'reason') return BOUNCE_REASONS[value] ?? value;
    if (name === 'key') return keys.find(({ id }) => id === value)?.name ?? value;
    return groupLabel(name, value);
  };
}

/** The keys of the selected mode, including revoked ones, which may have sent messages. */
function useApiKeys(enabled: boolean) {
  const { api, key } = useApi();
  const canRead = useCan()('read:api_keys');
  const keys = useQuery({
    queryKey: key('api-keys', 'filter'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/api-keys', { params: { query } }))),
    enabled: enabled && canRead,
    staleTime: 60_000,
  });
  const { mode } = useSelection();
  return (keys.data ?? []).filter((one) => one.mode === mode);
}

export function MessageFilterBar({
  filters,
  onChange,
  children,
}: {
  filters: MessageFilters;
  onChange: (next: MessageFilters) => void;
  children?: ReactNode;
}) {
  const valueLabel = useValueLabel(filters);
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
      <TimeRangePicker range={filters} onChange={(range) => onChange({ ...filters, ...range })} />
      <MoreFilters filters={filters} onChange={onChange} />
      <SavedFilters list="messages" filters={{ ...filters }} onApply={onChange} />
      {MORE_FILTERS.filter((name) => filters[name]).map((name) => (
        <FilterChip key={name} onRemove={() => onChange({ ...filters, [name]: '' })}>
          {capitalize(NAMES[name] ?? name)}: {valueLabel(name)}
        </FilterChip>
      ))}
      {children}
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
  return (
    <FilterPopover>
      {(close) => (
        <MoreFiltersForm
          filters={filters}
          onApply={(next) => {
            close();
            onChange(next);
          }}
        />
      )}
    </FilterPopover>
  );
}

function MoreFiltersForm({
  filters,
  onApply,
}: {
  filters: MessageFilters;
  onApply: (next: MessageFilters) => void;
}) {
  const [draft, setDraft] = useState(filters);
  const providers = useId();
  const keys = useApiKeys(true);
  const set = (name: MoreFilter) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value });
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        onApply({ ...filters, ...draft });
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
      <Field label="Stream">
        <StreamSelect
          none="Any stream"
          value={draft.stream ?? ''}
          onChange={(stream) => setDraft({ ...draft, stream })}
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
      <Field label="Reason">
        <Select value={draft.reason ?? ''} onChange={set('reason')}>
          <option value="">Any reason</option>
          {Object.entries(BOUNCE_REASONS).map(([reason, label]) => (
            <option key={reason} value={reason}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
      {keys.length > 0 && (
        <Field label="API key">
          <Select value={draft.key ?? ''} onChange={set('key')}>
            <option value="">Any key</option>
            {keys.map(({ id, name, token_hint }) => (
              <option key={id} value={id}>
                {name} ({token_hint})
              </option>
            ))}
          </Select>
        </Field>
      )}
      <Button type="submit" kind="primary">
        Apply
      </Button>
    </form>
  );
}
