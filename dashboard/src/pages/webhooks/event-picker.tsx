import { RadioCards } from '../../components/field.tsx';
import { classNames } from '../../lib/class-names.ts';
import { describeEventType, EVENT_FAMILIES, type EventFamily } from '../events/event-types.ts';

/** Selects the events of an endpoint: all, by family, or individually. */
export function EventPicker({
  value,
  onChange,
}: {
  value: readonly string[];
  onChange: (next: string[]) => void;
}) {
  const all = value.includes('*');
  return (
    <div className="grid gap-3">
      <RadioCards
        legend="Events"
        columns
        value={all ? 'all' : 'some'}
        onChange={(which) => onChange(which === 'all' ? ['*'] : ['message.*'])}
        options={[
          { value: 'all', label: 'All events', hint: 'Including future types.' },
          { value: 'some', label: 'Selected events', hint: 'By group or individually.' },
        ]}
      />
      {!all && (
        <div className="divide-y divide-line rounded-lg border border-line">
          {EVENT_FAMILIES.map((family) => (
            <FamilyRow key={family.id} family={family} value={value} onChange={onChange} />
          ))}
        </div>
      )}
    </div>
  );
}

function FamilyRow({
  family: { id, name, types },
  value,
  onChange,
}: {
  family: EventFamily;
  value: readonly string[];
  onChange: (next: string[]) => void;
}) {
  const wildcard = `${id}.*`;
  const allSelected = value.includes(wildcard);
  const others = value.filter((one) => one.split('.')[0] !== id);
  const selected = types.filter((type) => value.includes(type));
  const toggle = (type: string) => {
    if (!allSelected) {
      const next = selected.includes(type as never)
        ? selected.filter((one) => one !== type)
        : [...selected, type as never];
      onChange([...others, ...next]);
      return;
    }
    onChange([...others, ...types.filter((one) => one !== type)]);
  };
  return (
    <fieldset className="grid gap-x-3 gap-y-1.5 px-3 py-2.5 sm:grid-cols-[6rem_1fr]">
      <legend className="sr-only">{name}</legend>
      <span className="text-sm leading-6 font-medium" aria-hidden>
        {name}
      </span>
      <div className="flex flex-wrap items-center gap-1.5">
        <Chip
          on={allSelected}
          label={wildcard}
          title={`All ${name} events, including future types`}
          onClick={() => onChange(allSelected ? others : [...others, wildcard])}
        />
        {types.map((type) => (
          <Chip
            key={type}
            on={allSelected || selected.includes(type)}
            faded={allSelected}
            label={type.slice(id.length + 1)}
            name={type}
            title={describeEventType(type)}
            onClick={() => toggle(type)}
          />
        ))}
      </div>
    </fieldset>
  );
}

function Chip({
  on,
  faded,
  label,
  name = label,
  title,
  onClick,
}: {
  on: boolean;
  /** Selected by the wildcard next to it. */
  faded?: boolean;
  label: string;
  name?: string;
  title: string;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      aria-pressed={on}
      aria-label={name}
      title={title}
      onClick={onClick}
      className={classNames(
        'h-6 rounded-full border px-2 font-mono text-2xs transition-colors',
        on && !faded && 'border-accent-ink bg-accent-wash text-accent-ink',
        on && faded && 'border-transparent bg-accent-wash text-accent-ink',
        !on && 'border-line-strong text-soft hover:border-faint hover:text-ink',
      )}
    >
      {label}
    </button>
  );
}
