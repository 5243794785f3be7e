import type { Mode } from '../../accounts/tenant-scope.ts';
import type { Workspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { notifyEventsAppended } from '../../events/events-store.ts';
import { encodeId } from '../../lib/ids.ts';
import { readOperatorRules } from '../../messages/verdict/operator-rules.ts';
import {
  type BounceEvidence,
  type ReviewedSuppression,
  reviewSuppression,
} from '../../messages/verdict/review-suppression.ts';
import { setOperatorRules } from '../../messages/verdict/verdict-rules.ts';
import { createAddressHash } from '../../suppressions/erased-address.ts';
import type { Suppression } from '../../suppressions/suppression-store.ts';
import { Suppressions } from '../../suppressions/suppressions.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../format-table.ts';
import { noteWorkspace } from '../running-command.ts';
import { withDatabase } from '../with-database.ts';

/** All that were found are counted and removed; only these are printed. */
const LISTED_MAX = 1_000;

export const suppressionsReview: Command = {
  name: 'suppressions review',
  summary: 'Find suppressions that the current bounce rules would not create.',
  details:
    'Classifies the stored reply of every suppression after a hard bounce again, with the built-in rules and those in BOUNCE_RULES_FILE. Without --remove nothing changes. Suppressions after complaints, those added by hand, and those without a reply (the domain does not exist) are not reviewed.',
  options: {
    workspace: { value: 'NAME|ID', description: 'Only this workspace (default: all).' },
    remove: { description: 'Remove what was found. The addresses receive mail again.' },
  },
  run: (input) =>
    withDatabase(async (parts) => {
      setOperatorRules(readOperatorRules(parts.config.delivery.bounceRulesFile));
      const workspaces = new Workspaces(parts);
      const wanted = input.option('workspace');
      const chosen =
        wanted === undefined ? await workspaces.list() : [await findWorkspace(workspaces, wanted)];
      const suppressions = new Suppressions({
        pool: parts.pool,
        clock: parts.clock,
        hash: createAddressHash(parts.secretKey),
      });
      const remove = input.flag('remove');
      for (const { id } of chosen) await noteWorkspace(id);
      const data: ReturnType<typeof publicFinding>[] = [];
      let found = 0;
      for (const workspace of chosen) {
        for (const mode of ['live', 'test'] as const) {
          const scope = { workspaceId: workspace.id, mode };
          const pages = suppressions.reviewHardBounces(scope, { isOutdated, remove });
          for await (const page of pages) {
            found += page.length;
            const listed = page.slice(0, LISTED_MAX - data.length);
            data.push(...listed.map((entry) => publicFinding(workspace, mode, entry)));
          }
        }
      }
      if (remove && found > 0) await notifyEventsAppended(parts.pool, 'command');
      return {
        data: { data, found, removed: remove ? found : 0 },
        text: report(data, found, remove),
      };
    }),
};

function isOutdated({ evidence }: Suppression): boolean {
  return reviewSuppression(evidence)?.suppresses === false;
}

function publicFinding(workspace: Workspace, mode: Mode, entry: Suppression) {
  const { rule, smtp } = entry.evidence as BounceEvidence;
  const now = reviewSuppression(entry.evidence) as ReviewedSuppression;
  return {
    workspace: { id: encodeId('wsp', workspace.id), name: workspace.name },
    mode,
    id: encodeId('sup', entry.id),
    email: entry.email,
    rule,
    smtp,
    current: { rule: now.rule, reason: now.reason },
  };
}

function report(
  data: readonly ReturnType<typeof publicFinding>[],
  found: number,
  remove: boolean,
): string {
  if (found === 0) return 'No outdated suppressions.';
  const rows = data.map(({ workspace, mode, email, rule, smtp, current }) => [
    workspace.name,
    mode,
    email ?? '',
    rule ?? '',
    current.reason,
    [smtp?.code, smtp?.enhanced, smtp?.text].filter(Boolean).join(' ').slice(0, TEXT_CHARS_MAX),
  ]);
  const head = ['WORKSPACE', 'MODE', 'ADDRESS', 'RULE', 'NOW', 'REPLY'];
  const more = found > data.length ? `\n\nShowing the first ${data.length}.` : '';
  const end = remove
    ? `Removed: ${found}.`
    : `Found: ${found}. Nothing was changed; --remove removes them.`;
  return `${formatTable([head, ...rows])}${more}\n\n${end}`;
}

const TEXT_CHARS_MAX = 100;
