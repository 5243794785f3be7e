import { type ReactNode, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FilterChip, FilterPopover } from '../../components/filter-popover.tsx';
import { SavedFilters } from '../../components/saved-filters.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import type { InboundFilters } from './use-inbound-messages.ts';

const LABELS = {
  from: 'Sender',
  to: 'Recipient',
  domain: 'Receiving domain',
  answers: 'Replies to',
} as const;

type MoreFilter = keyof typeof LABELS;

const MORE_FILTERS = Object.keys(LABELS) as MoreFilter[];

export function InboundFilterBar({
  filters,
  onChange,
  children,
}: {
  filters: InboundFilters;
  onChange: (next: InboundFilters) => void;
  children?: ReactNode;
}) {
  return (
    <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
      <SearchInput
        label="Search subjects and senders"
        value={filters.q ?? ''}
        onChange={(q) => onChange({ ...filters, q })}
      />
      <TimeRangePicker range={filters} onChange={(range) => onChange({ ...filters, ...range })} />
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
      <SavedFilters list="inbound-messages" filters={{ ...filters }} onApply={onChange} />
      {MORE_FILTERS.filter((name) => filters[name]).map((name) => (
        <FilterChip key={name} onRemove={() => onChange({ ...filters, [name]: '' })}>
          {LABELS[name]}: {filters[name]}
        </FilterChip>
      ))}
      {children}
    </search>
  );
}

function MoreFiltersForm({
  filters,
  onApply,
}: {
  filters: InboundFilters;
  onApply: (next: InboundFilters) => void;
}) {
  const [draft, setDraft] = useState(filters);
  const set = (name: MoreFilter) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value.trim() });
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        onApply({ ...filters, ...draft });
      }}
    >
      <Field label="Sender">
        <TextInput value={draft.from ?? ''} onChange={set('from')} placeholder="jane@example.com" />
      </Field>
      <Field label="Recipient" hint="An address, or @ and a domain.">
        <TextInput
          value={draft.to ?? ''}
          onChange={set('to')}
          placeholder="support@reply.yourdomain.com"
        />
      </Field>
      <Field label="Receiving domain">
        <TextInput
          value={draft.domain ?? ''}
          onChange={set('domain')}
          placeholder="reply.yourdomain.com"
        />
      </Field>
      <Field label="Replies to" hint="The ID of a message that you sent.">
        <TextInput value={draft.answers ?? ''} onChange={set('answers')} placeholder="msg_…" />
      </Field>
      <Button type="submit" kind="primary">
        Apply
      </Button>
    </form>
  );
}
