import { RadioCards } from '../../components/field.tsx';
import { classNames } from '../../lib/class-names.ts';
import { useCan } from '../../session/session.ts';
import {
  AUDIT_FAMILY,
  describeEventType,
  EVENT_FAMILIES,
  type EventFamily,
  selectsAuditEvents,
} from '../events/event-types.ts';

type Choice = 'all' | 'some' | 'audit';

const SELECTED: Record<Choice, string[]> = {
  all: ['*'],
  some: ['message.*'],
  audit: [`${AUDIT_FAMILY}.*`],
};

/**
 * Selects the events of an endpoint: all, by family or individually, or the audit log. An existing
 * endpoint cannot be changed from audit events to others or back.
 */
export function EventPicker({
  value,
  onChange,
  isNew,
}: {
  value: readonly string[];
  onChange: (next: string[]) => void;
  isNew: boolean;
}) {
  const canReadAuditLog = useCan()('read:audit_log');
  const isAudit = selectsAuditEvents(value);
  const choice: Choice = isAudit ? 'audit' : value.includes('*') ? 'all' : 'some';
  const others = [
    { value: 'all' as const, label: 'All events', hint: 'Including future types.' },
    { value: 'some' as const, label: 'Selected events', hint: 'By group or individually.' },
  ];
  const audit = { value: 'audit' as const, label: 'Audit log', hint: 'Every change, no mail.' };
  return (
    <div className="grid gap-3">
      <RadioCards<Choice>
        legend="Events"
        columns
        value={choice}
        onChange={(which) => onChange(SELECTED[which])}
        options={[
          ...(isNew || !isAudit ? others : []),
          ...(isAudit || (isNew && canReadAuditLog) ? [audit] : []),
        ]}
      />
      {choice === 'some' && (
        <div className="divide-y divide-line rounded-lg border border-line">
          {EVENT_FAMILIES.filter(({ id }) => id !== AUDIT_FAMILY).map((family) => (
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
