import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Cloud } from 'lucide-react';
import { apiFor, unwrap } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { type Mode, useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import type { SesSecrets } from './client-snippets.ts';
import { type ExampleKey, rememberSesSecrets } from './example-key.tsx';

/** The SES credentials in examples: created on request, because AWS SDKs cannot use the key itself. */

export function placeholderSesSecrets(mode: Mode): SesSecrets {
  return { accessKeyId: `PR${mode.toUpperCase()}…`, secretAccessKey: 'pr_ses_…' };
}

interface ExampleSesSecrets {
  secrets: SesSecrets | undefined;
  creating: boolean;
  create: () => void;
}

export function useSesSecrets(mode: Mode, key: ExampleKey | undefined): ExampleSesSecrets {
  const selection = useSelection();
  const queries = useQueryClient();
  const creating = useMutation({
    mutationFn: (id: string) =>
      unwrap(
        apiFor({ ...selection, mode }).POST('/api/v1/api-keys/{id}/ses-credentials', {
          params: { path: { id } },
        }),
      ).then(({ access_key_id, secret_access_key }) => ({
        id,
        ses: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
      })),
    onSuccess: ({ id, ses }) => {
      rememberSesSecrets(id, ses);
      return queries.invalidateQueries({ queryKey: ['ses-credentials', id] });
    },
    onError: showErrorToast,
  });
  const created = creating.data?.id === key?.id ? creating.data?.ses : undefined;
  return {
    secrets: key?.ses ?? created,
    creating: creating.isPending,
    create: () => key && creating.mutate(key.id),
  };
}

/** Below the example for Amazon SES. */
export function SesNote({ secrets, creating, create }: ExampleSesSecrets) {
  const canCreate = useCan()('write:api_keys');
  if (secrets) {
    return <p className="mt-1">Copy the credentials now. You won’t be able to see them again.</p>;
  }
  return (
    <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1.5">
      <p>AWS SDKs sign requests with credentials that belong to the key.</p>
      {canCreate && (
        <Button size="small" icon={Cloud} busy={creating} onClick={create}>
          Create SES credentials
        </Button>
      )}
    </div>
  );
}
