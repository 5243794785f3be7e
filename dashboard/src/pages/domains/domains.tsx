import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { AtSign, Plus } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useCan, useFormOpen } from '../../session/session.ts';
import { domainIn } from './domain-input.ts';

export type Domain = Schema<'Domain'>;

export function DomainsPage() {
  const { api, key } = useApi();
  const can = useCan();
  const navigate = useNavigate();
  const { q, new: adding } = useSearch({ from: '/inside/domains' });
  const formOpen = useFormOpen(adding !== undefined, 'write:domains');
  const filter = q === undefined ? {} : { q };
  const list = usePaginatedQuery(key('domains', q), (cursor) =>
    unwrap(api.GET('/api/v1/domains', { params: { query: { ...pageParams(cursor), ...filter } } })),
  );
  const go = (search: { q?: string; new?: string }) =>
    void navigate({ to: '/domains', search, replace: search.new === undefined });
  const add = (on: boolean) => go({ ...filter, ...(on ? { new: 'true' } : {}) });
  const addButton = can('write:domains') && (
    <Button kind="primary" icon={Plus} onClick={() => add(true)}>
      Add domain
    </Button>
  );
  return (
    <Page
      full
      title="Domains"
      description="Domains you can send from, verified by DNS."
      actions={addButton}
    >
      <search className="flex items-center gap-3 px-4 pb-3 sm:px-6">
        <SearchInput label="Search domains" value={q ?? ''} onChange={(text) => go({ q: text })} />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="domain" />
      </search>
      <PaginatedList
        list={list}
        placeholderRows={4}
        empty={
          q !== undefined ? (
            <NoSearchResults what="domain" text={q} where="domain names" onClear={() => go({})} />
          ) : (
            <EmptyState icon={AtSign} title="No sending domains yet" actions={addButton}>
              Live email needs a verified domain. Add the domain of your From addresses and publish
              its DNS records; it is verified automatically.
            </EmptyState>
          )
        }
      >
        <Table label="Domains">
          <thead>
            <tr>
              <Th>Domain</Th>
              <Th>Status</Th>
              <Th hideBelow="md">Records</Th>
              <Th hideBelow="md">Checked</Th>
              <Th hideBelow="md">Added</Th>
            </tr>
          </thead>
          <tbody>
            {list.rows.map((domain) => (
              <DomainRow key={domain.id} domain={domain} />
            ))}
          </tbody>
        </Table>
      </PaginatedList>
      {formOpen && <AddDomain onClose={() => add(false)} />}
    </Page>
  );
}

function DomainRow({ domain }: { domain: Domain }) {
  const required = domain.records.filter((record) => record.required);
  const found = required.filter((record) => record.status === 'found');
  return (
    <Tr className="row-link">
      <Td>
        <Link to="/domains/$id" params={{ id: domain.id }} data-row className="cover font-medium">
          {domain.name}
        </Link>
      </Td>
      <Td>
        <span className="flex flex-wrap gap-1.5">
          <StatusBadge status={domain.status} />
          {domain.trusted && <Badge>Trusted</Badge>}
          {domain.receiving && <Badge>Receiving</Badge>}
        </span>
      </Td>
      <Td hideBelow="md" className="text-soft">
        {found.length} of {required.length}
      </Td>
      <Td hideBelow="md" className="text-soft">
        <Time at={domain.checked_at} />
      </Td>
      <Td hideBelow="md" className="text-soft">
        <Time at={domain.created_at} />
      </Td>
    </Tr>
  );
}

function AddDomain({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const adding = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/domains', { body: { name: domainIn(name) } })),
    onSuccess: (domain) => {
      void queries.invalidateQueries({ queryKey: ['domains'] });
      void navigate({ to: '/domains/$id', params: { id: domain.id } });
    },
  });
  return (
    <Dialog title="Add domain" onClose={onClose}>
      <DialogForm saving={adding} fields={['/name']} submitLabel="Add domain" onClose={onClose}>
        <Field
          label="Domain"
          hint="The part after @ in your From addresses. Subdomains such as mail.yourdomain.com are separate domains."
          error={fieldError(adding.error, '/name')}
        >
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="yourdomain.com"
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}
