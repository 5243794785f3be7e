import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useHere } from '../../api/here.ts';
import { sessionEnded } from '../../api/session-ended.ts';
import { type ContentKind, contentApi, type Template, type TemplateChange } from './content-api.ts';

/**
 * The draft while somebody writes. What is typed is kept here and saved in pauses; a save that fails
 * loses nothing and is tried again, by hand or after signing in again. `saved` counts the saves, so
 * that previews know when to look again.
 */
export interface Draft {
  /** The draft as the server has it, with its inferred variables. */
  stored: Template;
  fields: DraftFields;
  set: (change: Partial<DraftFields>) => void;
  state: 'saved' | 'waiting' | 'saving' | 'failed';
  error: unknown;
  saves: number;
  saveNow: () => Promise<boolean>;
  /** Takes what the server has, after something else changed it. */
  reload: (stored: Template) => void;
}

export interface DraftFields {
  name: string;
  subject: string;
  html: string;
  text: string;
  layout: string | null;
  from: Template['from'];
  locales: Template['locales'];
  variables: Template['variables'];
}

const PAUSE_MS = 600;

export function useDraft(kind: ContentKind, loaded: Template): Draft {
  const { api } = useHere();
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [fields, setFields] = useState(() => fieldsOf(loaded));
  const [state, setState] = useState<Draft['state']>('saved');
  const [error, setError] = useState<unknown>();
  const [saves, setSaves] = useState(0);
  const pending = useRef<Partial<DraftFields>>({});
  const saving = useRef<Promise<boolean>>(undefined);

  const save = useCallback(async (): Promise<boolean> => {
    // One after the other: two saves at once could land in the wrong order.
    if (saving.current) await saving.current;
    const change = pending.current;
    if (Object.keys(change).length === 0) return true;
    pending.current = {};
    setState('saving');
    saving.current = contentApi(api, kind)
      .change(loaded.key, changeOf(change))
      .then(
        (answer) => {
          setStored(answer);
          setSaves((count) => count + 1);
          setError(undefined);
          setState(Object.keys(pending.current).length > 0 ? 'waiting' : 'saved');
          void queries.invalidateQueries({ queryKey: ['templates'] });
          return true;
        },
        (problem) => {
          pending.current = { ...change, ...pending.current };
          setError(problem);
          setState('failed');
          return false;
        },
      )
      .finally(() => {
        saving.current = undefined;
      });
    return saving.current;
  }, [api, kind, loaded.key, queries]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: every change starts the pause anew.
  useEffect(() => {
    if (state !== 'waiting') return;
    const timer = setTimeout(() => void save(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [state, fields, save]);

  useEffect(
    () =>
      sessionEnded.subscribe(() => {
        if (!sessionEnded.get()) void save();
      }),
    [save],
  );

  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (Object.keys(pending.current).length > 0) event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => {
      removeEventListener('beforeunload', warn);
      void save();
    };
  }, [save]);

  return {
    stored,
    fields,
    state,
    error,
    saves,
    saveNow: save,
    set: (change) => {
      pending.current = { ...pending.current, ...change };
      setFields((now) => ({ ...now, ...change }));
      setState('waiting');
    },
    reload: (fresh) => {
      setStored(fresh);
      setFields(fieldsOf(fresh));
      setSaves((count) => count + 1);
    },
  };
}

function fieldsOf(template: Template): DraftFields {
  return {
    name: template.name,
    subject: template.subject ?? '',
    html: template.html ?? '',
    text: template.text ?? '',
    layout: template.layout ?? null,
    from: template.from ?? null,
    locales: template.locales,
    variables: template.variables ?? [],
  };
}

/** An emptied text is none: the text part is then made from the html. */
function changeOf(fields: Partial<DraftFields>): TemplateChange {
  const change: Record<string, unknown> = { ...fields };
  for (const name of ['subject', 'html', 'text']) {
    if (change[name] === '') change[name] = null;
  }
  // Only a name that people can read: an empty one is a slip while typing.
  if (change.name === '') delete change.name;
  return change as TemplateChange;
}
