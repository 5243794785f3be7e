import { Select } from '../../components/field.tsx';
import { useCan } from '../../session/session.ts';
import { AUDIT_FAMILY, EVENT_FAMILIES } from './event-types.ts';

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
  const canReadAuditLog = useCan()('read:audit_log');
  const offered = EVENT_FAMILIES.filter(({ id }) => id !== AUDIT_FAMILY || canReadAuditLog);
  return (
    <Select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      {any !== undefined && <option value="">{any}</option>}
      {offered.map(({ id, name, types }) => (
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
