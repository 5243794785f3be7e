import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/use-api.ts';
import { toProblem } from '../../api/problem.ts';
import { sessionEnded } from '../../api/session-signals.ts';
import { addLeaveGuard } from '../../session/leave-guards.ts';
import { type ContentKind, contentApi, type Template } from './content-api.ts';
import {
  toTemplateChange,
  conflictingFields,
  type DraftFields,
  type FieldName,
  toDraftFields,
  isEmpty,
} from './draft-fields.ts';

/**
 * The draft while somebody writes. What is typed is kept here and saved in pauses; a save that fails
 * loses nothing and is tried again, by hand or after signing in again. `saved` counts the saves, so
 * that previews know when to look again. What somebody else wrote meanwhile is joined with it; where
 * both wrote in the same field, nothing is saved before the person here has chosen.
 */
export interface Draft {
  /** The draft as the server has it, with its inferred variables. */
  stored: Template;
  fields: DraftFields;
  set: (change: Partial<DraftFields>) => void;
  state: 'saved' | 'waiting' | 'saving' | 'failed';
  error: unknown;
  saves: number;
  /** What is stored then. Rejects with the reason when it cannot be saved; `state` tells it too. */
  saveNow: () => Promise<Template>;
  /** Takes what the server has, after something else changed it. */
  reload: (stored: Template) => unknown;
  conflict: Conflict | undefined;
  /** Somebody is about to go elsewhere, and what they wrote cannot be saved. */
  leaving: { stay: () => void; leave: () => void } | undefined;
}

/** Somebody else has saved other words for fields that are being written here. */
export interface Conflict {
  theirs: Template;
  fields: FieldName[];
  takeTheirs: () => Promise<void>;
  keepMine: () => void;
}

const PAUSE_MS = 600;

export function useDraft(kind: ContentKind, loaded: Template): Draft {
  const { api } = useApi();
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [fields, setFields] = useState(() => toDraftFields(loaded));
  const [state, setState] = useState<Draft['state']>('saved');
  const [error, setError] = useState<unknown>();
  const [saves, setSaves] = useState(0);
  const [conflict, setConflict] = useState<Pick<Conflict, 'theirs' | 'fields'>>();
  // What `fields` began with: a save names it, and is refused when somebody else was faster.
  const base = useRef(loaded);
  const pending = useRef<Partial<DraftFields>>({});
  const saving = useRef<Promise<Template>>(undefined);

  const rebase = useCallback((now: Template) => {
    base.current = now;
    setStored(now);
    setFields({ ...toDraftFields(now), ...pending.current });
    setSaves((count) => count + 1);
    setConflict(undefined);
  }, []);

  /** False where the person must choose first. */
  const mergeRemote = useCallback(
    (theirs: Template): boolean => {
      const both = conflictingFields(toDraftFields(base.current), pending.current, toDraftFields(theirs));
      if (both.length === 0) rebase(theirs);
      else setConflict({ theirs, fields: both });
      return both.length === 0;
    },
    [rebase],
  );

  const save = useCallback(async (): Promise<Template> => {
    const content = contentApi(api, kind);
    const store = async (): Promise<Template> => {
      const change = pending.current;
      if (isEmpty(change)) return base.current;
      pending.current = {};
      try {
        base.current = await content.change(loaded.key, toTemplateChange(change), base.current.etag);
        return base.current;
      } catch (problem) {
        pending.current = { ...change, ...pending.current };
        if (toProblem(problem).code !== 'draft_changed') throw problem;
        if (!mergeRemote(await content.get(loaded.key))) throw problem;
        return store();
      }
    };
    // One after the other: two saves at once could land in the wrong order.
    while (saving.current) await saving.current.catch(() => {});
    if (isEmpty(pending.current)) return base.current;
    setState('saving');
    saving.current = store()
      .then(
        (answer) => {
          setStored(answer);
          setSaves((count) => count + 1);
          setError(undefined);
          setState(isEmpty(pending.current) ? 'saved' : 'waiting');
          void queries.invalidateQueries({ queryKey: ['templates'] });
          return answer;
        },
        (problem) => {
          setError(problem);
          setState('failed');
          throw problem;
        },
      )
      .finally(() => {
        saving.current = undefined;
      });
    return saving.current;
  }, [api, kind, loaded.key, queries, mergeRemote]);
  const trySave = useCallback(() => void save().catch(() => {}), [save]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: every change starts the pause anew.
  useEffect(() => {
    if (state !== 'waiting') return;
    const timer = setTimeout(trySave, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [state, fields, trySave]);

  useEffect(
    () =>
      sessionEnded.subscribe(() => {
        if (!sessionEnded.get()) trySave();
      }),
    [trySave],
  );

  // Written on in another tab or by somebody else: going on from the text of before would undo theirs.
  useEffect(() => {
    if (!saving.current && loaded.updated_at > stored.updated_at) mergeRemote(loaded);
  }, [loaded, stored, mergeRemote]);

  const blocker = useBlocker({
    // Whoever comes back at once must find what they wrote, so the way on is free after the save.
    shouldBlockFn: () =>
      save().then(
        () => false,
        () => true,
      ),
    enableBeforeUnload: () => !isEmpty(pending.current),
    withResolver: true,
  });

  const [resolveLeave, setResolveLeave] = useState<(go: boolean) => void>();
  useEffect(
    () =>
      addLeaveGuard(() =>
        save().then(
          () => true,
          () => new Promise<boolean>((answer) => setResolveLeave(() => answer)),
        ),
      ),
    [save],
  );
  const answer = (go: boolean) => {
    if (go) pending.current = {};
    setResolveLeave(undefined);
    resolveLeave?.(go);
    if (blocker.status !== 'blocked') return;
    if (go) blocker.proceed();
    else blocker.reset();
  };

  return {
    stored,
    fields,
    state,
    error,
    saves,
    saveNow: save,
    conflict: conflict && {
      ...conflict,
      takeTheirs: async () => {
        while (saving.current) await saving.current.catch(() => {});
        pending.current = {};
        rebase(conflict.theirs);
        setState('saved');
      },
      keepMine: () => {
        rebase(conflict.theirs);
        trySave();
      },
    },
    leaving:
      resolveLeave || blocker.status === 'blocked'
        ? { stay: () => answer(false), leave: () => answer(true) }
        : undefined,
    set: (change) => {
      pending.current = { ...pending.current, ...change };
      setFields((now) => ({ ...now, ...change }));
      setState('waiting');
    },
    reload: mergeRemote,
  };
}
