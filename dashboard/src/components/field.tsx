import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
  useState,
} from 'react';
import { classNames } from '../lib/class-names.ts';

/** IDs that connect a label, its control, its hint and its error. */
interface FieldIds {
  control: string;
  hint: string | undefined;
  error: string | undefined;
}

const FieldContext = createContext<FieldIds | undefined>(undefined);

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  optional?: boolean;
  /** Visually hidden, for screen readers only. */
  hideLabel?: boolean;
  className?: string;
  children: ReactNode;
}

export function Field({
  label,
  hint,
  error,
  optional,
  hideLabel,
  className,
  children,
}: FieldProps) {
  const id = useId();
  // The error replaces the hint, which it often repeats.
  const shownHint = error === undefined ? hint : undefined;
  const ids: FieldIds = {
    control: id,
    hint: shownHint === undefined ? undefined : `${id}-hint`,
    error: error === undefined ? undefined : `${id}-error`,
  };
  return (
    <FieldContext value={ids}>
      <div className={classNames('grid content-start gap-1.5', className)}>
        <label
          htmlFor={id}
          className={classNames('text-sm font-medium text-ink', hideLabel && 'sr-only')}
        >
          {label}
          {optional && <span className="font-normal text-faint"> (optional)</span>}
        </label>
        {children}
        {error !== undefined && (
          <p id={ids.error} className="text-xs text-bad">
            {error}
          </p>
        )}
        {shownHint !== undefined && (
          <p id={ids.hint} className="text-xs text-faint">
            {shownHint}
          </p>
        )}
      </div>
    </FieldContext>
  );
}

const CONTROL =
  'w-full rounded-md border bg-panel text-ink placeholder:text-faint/80 shadow-panel transition-colors disabled:opacity-60 disabled:bg-sunken';

/**
 * Not for selects, which match :read-only in browsers. Safari on phones zooms into fields whose text
 * is smaller than 16 pixels.
 */
const TEXT_CONTROL = 'read-only:bg-sunken pointer-coarse:text-lg';

function controlProps(ids: FieldIds | undefined) {
  return {
    id: ids?.control,
    'aria-invalid': ids?.error ? true : undefined,
    'aria-describedby': [ids?.error, ids?.hint].filter(Boolean).join(' ') || undefined,
  } as const;
}

function borderClass(ids: FieldIds | undefined): string {
  return ids?.error ? 'border-bad' : 'border-line-strong hover:border-faint';
}

export function TextInput({
  className,
  mono,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { mono?: boolean; ref?: Ref<HTMLInputElement> }) {
  const ids = useContext(FieldContext);
  return (
    <input
      type="text"
      autoComplete="off"
      spellCheck={false}
      {...controlProps(ids)}
      className={classNames(
        CONTROL,
        TEXT_CONTROL,
        borderClass(ids),
        'h-8 px-2.5 text-sm',
        mono && 'font-mono',
        className,
      )}
      {...rest}
    />
  );
}

/** A password that the user can make visible, because it is typed only once. */
export function PasswordInput(props: Omit<InputHTMLAttributes<HTMLInputElement>, 'type'>) {
  const [isShown, setShown] = useState(false);
  return (
    <div className="relative">
      <TextInput
        {...props}
        type={isShown ? 'text' : 'password'}
        autoCapitalize="none"
        className="pr-14"
      />
      <button
        type="button"
        onClick={() => setShown(!isShown)}
        className="absolute inset-y-0 right-0 px-2.5 text-xs font-medium text-soft hover:text-ink"
      >
        {isShown ? 'Hide' : 'Show'}
        <span className="sr-only"> password</span>
      </button>
    </div>
  );
}

export function TextArea({
  className,
  mono,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & {
  mono?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const ids = useContext(FieldContext);
  return (
    <textarea
      {...controlProps(ids)}
      className={classNames(
        CONTROL,
        TEXT_CONTROL,
        borderClass(ids),
        'px-2.5 py-1.5 text-sm leading-5',
        mono && 'font-mono text-xs leading-5',
        className,
      )}
      {...rest}
    />
  );
}

export function Select({ className, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  const ids = useContext(FieldContext);
  return (
    <select
      {...controlProps(ids)}
      className={classNames(CONTROL, borderClass(ids), 'select h-8 pr-7 pl-2.5 text-sm', className)}
      {...rest}
    >
      {children}
    </select>
  );
}

export interface CheckboxProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'onChange'> {
  label: ReactNode;
  hint?: ReactNode;
  onChange: (checked: boolean) => void;
}

export function Checkbox({ label, hint, onChange, className, ...rest }: CheckboxProps) {
  const id = useId();
  return (
    <div className={classNames('flex items-start gap-2', className)}>
      <input
        id={id}
        type="checkbox"
        className="mt-[3px] size-3.5 shrink-0 accent-(--accent)"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.checked)}
        {...rest}
      />
      <div className="min-w-0">
        <label htmlFor={id} className="text-sm text-ink">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-xs text-faint">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export interface RadioCardsProps<T extends string> {
  legend: ReactNode;
  hideLegend?: boolean;
  value: T;
  options: readonly { value: T; label: ReactNode; hint?: ReactNode; disabled?: boolean }[];
  onChange: (value: T) => void;
  columns?: boolean;
}

/** Radio buttons styled as cards, each with a hint. */
export function RadioCards<T extends string>({
  legend,
  hideLegend,
  value,
  options,
  onChange,
  columns,
}: RadioCardsProps<T>) {
  const name = useId();
  return (
    <fieldset className="min-w-0">
      <legend className={classNames('mb-1.5 text-sm font-medium', hideLegend && 'sr-only')}>
        {legend}
      </legend>
      <div className={classNames('grid gap-2', columns && 'sm:grid-cols-2')}>
        {options.map((option) => (
          <label
            key={option.value}
            className={classNames(
              'flex gap-2.5 rounded-lg border px-3 py-2 transition-colors has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-(--accent-ring)',
              option.disabled ? 'opacity-55' : 'cursor-pointer',
              option.value === value
                ? 'border-accent-ink bg-accent-wash/60'
                : 'border-line-strong hover:border-faint',
            )}
          >
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              disabled={option.disabled}
              onChange={() => onChange(option.value)}
              className="mt-[3px] size-3.5 shrink-0 accent-(--accent) outline-none"
            />
            <span className="min-w-0">
              <span className="block text-sm font-medium text-ink">{option.label}</span>
              {option.hint !== undefined && (
                <span className="block text-xs text-soft">{option.hint}</span>
              )}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
