import { Select } from '../../components/field.tsx';
import { useStreams } from './use-streams.ts';

/** Selects a stream, or none. A selected stream that no longer exists stays selectable. */
export function StreamSelect({
  value,
  onChange,
  none,
  label,
  disabled,
}: {
  value: string;
  onChange: (key: string) => void;
  /** The choice that selects no stream. */
  none: string;
  /** For a select without a visible label. */
  label?: string;
  disabled?: boolean;
}) {
  const streams = useStreams().data ?? [];
  const isMissing = value !== '' && streams.every(({ key }) => key !== value);
  return (
    <Select
      {...(label === undefined ? {} : { 'aria-label': label })}
      value={value}
      disabled={disabled}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{none}</option>
      {isMissing && <option value={value}>{value}</option>}
      {streams.map(({ key, name }) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </Select>
  );
}
