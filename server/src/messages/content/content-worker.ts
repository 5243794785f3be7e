import { WeightedCache } from '../../lib/memory/weighted-cache.ts';
import { RefusedError, refusalOf } from '../../lib/refused-error.ts';
import { serveTasks, toBuffer } from '../../lib/threads/serve-tasks.ts';
import { CompiledTemplate } from '../../templates/compile-template.ts';
import { compareContents } from '../../templates/content/compare-contents.ts';
import { previewTemplate } from '../../templates/preview-template.ts';
import { SharedWork } from '../../templates/template-engine.ts';
import type { ContentTask, ContentTasks, ThreadTemplate } from './content-thread.ts';
import { contentView } from './content-view.ts';
import { parseFields, renderFields } from './render-content.ts';

/** The worker behind `runInContentThread`. */

type Run<K extends keyof ContentTasks> = (
  input: ContentTasks[K]['input'],
) => ContentTasks[K]['result'];

const RUN: { [K in keyof ContentTasks]: Run<K> } = {
  view({ id, createdAtMs, content }) {
    const attachments = content.attachments.map((file) => ({
      ...file,
      content: toBuffer(file.content),
    }));
    return contentView(id, createdAtMs, { ...content, attachments });
  },
  render({ template: given, sharedWork: workLeft, ...input }) {
    const sharedWork = workLeft === undefined ? undefined : new SharedWork(workLeft);
    let outcome: ContentTasks['render']['result']['outcome'];
    try {
      const template = given && compiled(given);
      const fields = parseFields(input, template);
      outcome = { rendered: renderFields(input, fields, template, {}, sharedWork) };
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      outcome = { refusal: refusalOf(error) };
    }
    return { outcome, sharedWork: sharedWork?.left };
  },
  preview: ({ template, request, nowMs }) => previewTemplate(compiled(template), request, nowMs),
  compare: ({ before, after }) => compareContents(before, after),
};

/** In characters. */
const COMPILED_WEIGHT_MAX = 16 * 1024 * 1024;
const templates = new WeightedCache<CompiledTemplate>(COMPILED_WEIGHT_MAX);

function compiled({ id, sources }: ThreadTemplate): CompiledTemplate {
  const known = templates.get(String(id));
  if (known) return known;
  const template = new CompiledTemplate(sources);
  templates.set(String(id), template, template.weight);
  return template;
}

serveTasks(({ kind, input }: ContentTask) => RUN[kind](input as never));
