import { useQuery } from '@tanstack/react-query';
import { Link, Navigate, useParams } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import { type Api, unwrap } from '../../api/client.ts';
import { pageParams } from '../../api/pagination.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { useSelection } from '../../session/selection.ts';
import { type ContentKind, contentApi } from '../templates/content-api.ts';

/** Redirects from an ID to the page of its object, for objects whose URL does not contain the ID. */
export function FindPage() {
  const { id } = useParams({ from: '/inside/find/$id' });
  const { api, key } = useApi();
  const { mode } = useSelection();
  const found = useQuery({ queryKey: key('found', id), queryFn: () => pageOf(api, id) });
  if (found.isPending) return <SkeletonPage />;
  if (found.data) return <Navigate {...(found.data as { to: '/' })} replace />;
  if (found.isError && toProblem(found.error).status !== 404) {
    return (
      <Page title="Find">
        <ErrorAlert error={found.error} onRetry={() => void found.refetch()} />
      </Page>
    );
  }
  return (
    <Page title="Find">
      <EmptyState
        icon={SearchX}
        title="ID not found"
        actions={
          <Link to="/" className={buttonClass('primary')}>
            Go to overview
          </Link>
        }
      >
        <code className="font-mono text-xs break-all">{id}</code> doesn’t exist in {mode} mode of
        this workspace. It may belong to the other mode or another workspace, or have been deleted.
      </EmptyState>
    </Page>
  );
}

/** The route for an ID, or null if there is none. */
async function pageOf(api: Api, id: string): Promise<object | null> {
  switch (id.slice(0, 4)) {
    case 'whd_': {
      const path = { delivery_id: id };
      const delivery = await unwrap(
        api.GET('/api/v1/webhook-deliveries/{delivery_id}', { params: { path } }),
      );
      return {
        to: '/webhooks/$id/deliveries/$deliveryId',
        params: { id: delivery.webhook_id, deliveryId: id },
      };
    }
    case 'sup_': {
      const path = { id };
      const { email, domain } = await unwrap(
        api.GET('/api/v1/suppressions/{id}', { params: { path } }),
      );
      return { to: '/suppressions', search: { q: email ?? domain ?? '' } };
    }
    case 'tpl_':
      return templateWith(api, 'template', id);
    case 'lay_':
      return templateWith(api, 'layout', id);
    case 'prt_':
      return templateWith(api, 'partial', id);
    default:
      return null;
  }
}

const PAGE_ROWS = 100;

async function templateWith(api: Api, kind: ContentKind, id: string): Promise<object | null> {
  for (let cursor: string | undefined; ; ) {
    const page = await contentApi(api, kind).list(pageParams(cursor, PAGE_ROWS));
    const found = page.data.find((one) => one.id === id);
    if (found) return { to: '/templates/$kind/$key', params: { kind, key: found.key } };
    if (page.next_cursor === null) return null;
    cursor = page.next_cursor;
  }
}
