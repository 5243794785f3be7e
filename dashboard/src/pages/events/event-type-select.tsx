import { Select } from '../../components/field.tsx';
import { EVENT_FAMILIES } from './event-types.ts';

/** One type of event, or any; `families` offers whole families too. */
export function EventTypeSelect({
  value,
  onChange,
  any,
  families,
  label,
}: {
  value: string;
  onChange: (type: string) => void;
  /** What the choice of none is called; without it one must be chosen. */
  any?: string;
  families?: boolean;
  /** Where no field around it has one. */
  label?: string;
}) {
  return (
    <Select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      {any !== undefined && <option value="">{any}</option>}
      {EVENT_FAMILIES.map(({ id, name, types }) => (
        <optgroup key={id} label={name}>
          {families && types.length > 1 && <option value={`${id}.*`}>{id}.*</option>}
          {types.map((type) => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </optgroup>
      ))}
    </Select>
  );
}
