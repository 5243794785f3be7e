import { useState } from 'react';
import { fieldError } from '../api/problem.ts';
import { Field, TextInput } from './field.tsx';

/** A name, and a key that follows from it until one is typed. */
export function useNameAndKey(lengthMax: { name: number; key: number }) {
  const [name, setName] = useState('');
  const [typedKey, setKey] = useState<string>();
  return { name, setName, key: typedKey ?? keyFrom(name, lengthMax.key), setKey, lengthMax };
}

function keyFrom(name: string, lengthMax: number): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, lengthMax);
}

export function NameAndKeyFields({
  value: { name, setName, key, setKey, lengthMax },
  placeholder,
  error,
}: {
  value: ReturnType<typeof useNameAndKey>;
  /** A name. */
  placeholder: string;
  error: unknown;
}) {
  return (
    <>
      <Field label="Name" error={fieldError(error, '/name')}>
        <TextInput
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder={placeholder}
          required
          maxLength={lengthMax.name}
        />
      </Field>
      <Field
        label="Key"
        hint="Used in API calls. Can’t be changed later."
        error={fieldError(error, '/key')}
      >
        <TextInput
          mono
          value={key}
          onChange={(event) => setKey(event.target.value)}
          placeholder={keyFrom(placeholder, lengthMax.key)}
          required
          maxLength={lengthMax.key}
        />
      </Field>
    </>
  );
}
