import { classNames } from '../lib/class-names.ts';

/** A row of buttons of which exactly one is selected. */
export function SegmentedControl<Id extends string>({
  label,
  choices,
  value,
  onChange,
}: {
  /** The accessible name of the group. */
  label: string;
  choices: readonly { id: Id; label: string; title?: string }[];
  value: Id;
  onChange: (next: Id) => void;
}) {
  return (
    <fieldset className="flex min-w-0 flex-wrap gap-0.5 rounded-lg border border-line-strong p-0.5 shadow-panel">
      <legend className="sr-only">{label}</legend>
      {choices.map((choice) => (
        <button
          key={choice.id}
          type="button"
          title={choice.title}
          aria-pressed={choice.id === value}
          onClick={() => onChange(choice.id)}
          className={classNames(
            'h-6.5 rounded-md px-2.5 text-xs font-medium whitespace-nowrap transition-colors',
            choice.id === value
              ? 'bg-accent-wash text-accent-ink'
              : 'text-soft hover:bg-sunken hover:text-ink',
          )}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  );
}
