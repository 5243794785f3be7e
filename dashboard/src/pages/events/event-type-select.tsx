import { Select } from '../../components/field.tsx';
import { EVENT_FAMILIES } from './event-types.ts';

/** Selects an event type; `families` also offers wildcards such as message.*. */
export function EventTypeSelect({
  value,
  onChange,
  any,
  families,
  label,
}: {
  value: string;
  onChange: (type: string) => void;
  /** The label of the empty option; without it a type is required. */
  any?: string;
  families?: boolean;
  /** The accessible name, if the select is not inside a labeled field. */
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
