import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleX, RotateCw } from 'lucide-react';
import { unwrap } from '../../api/client.ts';
import { runEach } from '../../api/run-each.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { type RowSelection, SelectionBar } from '../../components/row-selection.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { formatCount } from '../../lib/format.ts';
import { CANCELLABLE, hasRecipientIn, RETRYABLE } from './message-actions.tsx';
import type { MessageSummary } from './use-messages.ts';

/** Retries or cancels the selected messages; each action skips messages that it cannot apply to. */
export function BulkMessageActions({
  rows,
  selection,
}: {
  rows: readonly MessageSummary[];
  selection: RowSelection;
}) {
  const { api } = useApi();
  const queries = useQueryClient();
  const selected = rows.filter(({ id }) => selection.has(id));
  const retryable = selected.filter((message) => hasRecipientIn(message, RETRYABLE));
  const cancellable = selected.filter((message) => hasRecipientIn(message, CANCELLABLE));
  const finish = async () => {
    selection.clear();
    await queries.invalidateQueries({ queryKey: ['messages'] });
  };
  const retrying = useMutation({
    mutationFn: async () => {
      await runEach(
        retryable,
        ({ id }) => unwrap(api.POST('/api/v1/messages/{id}/retry', { params: { path: { id } } })),
        { one: 'message', done: 'queued again' },
      );
      await finish();
    },
  });
  const cancel = () =>
    requestConfirmation({
      title: `Cancel ${formatCount(cancellable.length, 'message')}?`,
      body: 'They will not be sent to recipients who haven’t received them yet.',
      confirmLabel: `Cancel ${formatCount(cancellable.length, 'message')}`,
      run: async () => {
        await runEach(
          cancellable,
          ({ id }) =>
            unwrap(api.POST('/api/v1/messages/{id}/cancel', { params: { path: { id } } })),
          { one: 'message', done: 'cancelled' },
        );
        await finish();
      },
    });
  return (
    <SelectionBar selection={selection}>
      <Button
        size="small"
        icon={RotateCw}
        disabled={retryable.length === 0}
        busy={retrying.isPending}
        onClick={() => retrying.mutate()}
      >
        Retry{countUnlessAll(retryable, selected)}
      </Button>
      <Button size="small" icon={CircleX} disabled={cancellable.length === 0} onClick={cancel}>
        Cancel{countUnlessAll(cancellable, selected)}
      </Button>
    </SelectionBar>
  );
}

/** The number of messages that an action applies to, if not all of the selected ones. */
function countUnlessAll(some: readonly unknown[], all: readonly unknown[]): string {
  return some.length === 0 || some.length === all.length ? '' : ` ${some.length}`;
}
