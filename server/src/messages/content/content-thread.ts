import { type Refusal, RefusedError } from '../../lib/refused-error.ts';
import { TaskThread } from '../../lib/threads/task-thread.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { FieldChange } from '../../templates/content/compare-contents.ts';
import type { ResolvedSources, StoredContent } from '../../templates/content/stored-content.ts';
import type { Preview, PreviewRequest } from '../../templates/preview-template.ts';
import type { ContentView, MessageContent } from './message-content.ts';
import type { RenderedContent, RenderInput } from './rendered-content.ts';

/**
 * Work on content that would hold the event loop for longer than a few milliseconds runs in a worker
 * thread, with turns between workspaces and limits of time and memory. Small content is worked on in
 * place, because passing it to a thread costs more than the work. There is one thread per process,
 * started when needed.
 */

export interface ContentTasks {
  view: {
    input: { id: string; createdAtMs: number; content: MessageContent };
    result: ContentView;
  };
  render: {
    input: RenderInput & { template: ThreadTemplate | undefined; sharedWork: number | undefined };
    result: {
      outcome: { rendered: RenderedContent } | { refusal: Refusal };
      /** What is left of `sharedWork`. */
      sharedWork: number | undefined;
    };
  };
  preview: {
    input: { template: ThreadTemplate; request: PreviewRequest; nowMs: number };
    result: Preview;
  };
  compare: {
    input: { before: StoredContent; after: StoredContent };
    result: FieldChange[];
  };
}

/** A template that the thread compiles again, and caches under the ID. */
export interface ThreadTemplate {
  id: number;
  sources: ResolvedSources;
}

/** Parsing, rendering or converting this much takes about ten milliseconds. */
export const SMALL_CONTENT_CHARS_MAX = 64 * 1024;
/** Limits for rendering in place; a template that needs more is rendered in the thread. */
export const IN_PLACE_LIMITS = { workMax: 100_000 };

export function runInContentThread<K extends keyof ContentTasks>(
  workspaceId: string,
  kind: K,
  input: ContentTasks[K]['input'],
): Promise<ContentTasks[K]['result']> {
  return THREAD.run(workspaceId, { kind, input }) as Promise<ContentTasks[K]['result']>;
}

export interface ContentTask {
  kind: keyof ContentTasks;
  input: unknown;
}

/** Uses the system's time, because the limit is on what the thread actually does. */
const THREAD = new TaskThread<ContentTask, unknown>({
  clock: systemClock,
  entry: new URL('./content-worker.ts', import.meta.url),
  memoryMb: 512,
  label: 'Processing the content',
  tooComplex: () => new RefusedError('template_limit', 'The content is too complex.'),
});

export function threadTemplate(template: { sources: ResolvedSources }): ThreadTemplate {
  let id = templateIds.get(template);
  if (id === undefined) {
    id = ++lastTemplateId;
    templateIds.set(template, id);
  }
  return { id, sources: template.sources };
}

const templateIds = new WeakMap<object, number>();
let lastTemplateId = 0;
