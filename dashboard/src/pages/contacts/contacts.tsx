import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { BookUser, Download, Plus, SearchX, Upload } from 'lucide-react';
import { useState } from 'react';
import { fetchRaw, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet } from '../api-keys/snippet-code.ts';
import { type Contact, ContactSheet, NewContact } from './contact-sheet.tsx';
import { ImportContacts } from './import-contacts.tsx';

export function ContactsPage() {
  const search = useSearch({ from: '/inside/contacts' });
  const { api, key, selection } = useApi();
  const canWrite = useCan()('write:contacts');
  const navigate = useNavigate();
  const [importing, setImporting] = useState(false);
  const { q, open, new: adding } = search;
  const formOpen = useFormOpen(adding !== undefined, 'write:contacts');
  const list = usePaginatedQuery(key('contacts', q), (cursor) =>
    unwrap(
      api.GET('/api/v1/contacts', {
        params: { query: { ...pageParams(cursor), ...(q ? { q } : {}) } },
      }),
    ),
  );
  const go = (next: { q?: string; open?: string; new?: string }) =>
    void navigate({ to: '/contacts', search: next, replace: next.open === undefined });
  const filter = q ? { q } : {};
  const download = async () => {
    const response = await fetchRaw(selection, '/api/v1/contacts/export?format=csv');
    downloadFile(await response.blob(), 'contacts.csv');
  };
  return (
    <Page
      full
      title="Contacts"
      description={
        <>
          Recipient data you can use in templates as{' '}
          <code className="font-mono text-xs whitespace-nowrap">{'{{ contact.first_name }}'}</code>.
        </>
      }
      actions={
        <>
          {list.rows.length > 0 && (
            <Button icon={Download} onClick={() => void download().catch(showErrorToast)}>
              <span className="max-sm:sr-only">Export</span>
            </Button>
          )}
          {canWrite && (
            <>
              <Button icon={Upload} onClick={() => setImporting(true)}>
                <span className="max-sm:sr-only">Import</span>
              </Button>
              <Button kind="primary" icon={Plus} onClick={() => go({ ...filter, new: 'true' })}>
                Add
              </Button>
            </>
          )}
        </>
      }
    >
      <search className="flex items-center gap-3 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search addresses and names"
          value={q ?? ''}
          onChange={(text) => go({ q: text })}
        />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="contact" />
      </search>
      <PaginatedList list={list} empty={<NoContacts filtered={q !== undefined} />}>
        <ContactTable contacts={list.rows} filter={filter} />
      </PaginatedList>
      {open !== undefined && <ContactSheet key={open} email={open} onClose={() => go(filter)} />}
      {formOpen && <NewContact onClose={() => go(filter)} />}
      {importing && <ImportContacts onClose={() => setImporting(false)} />}
    </Page>
  );
}

function ContactTable({ contacts, filter }: { contacts: Contact[]; filter: { q?: string } }) {
  return (
    <Table label="Contacts">
      <thead>
        <tr>
          <Th>Address</Th>
          <Th hideBelow="md">Name</Th>
          <Th hideBelow="md">Language</Th>
          <Th hideBelow="md">Attributes</Th>
          <Th hideBelow="md">Updated</Th>
        </tr>
      </thead>
      <tbody>
        {contacts.map((contact) => (
          <Tr key={contact.id} className="row-link">
            <Td className="max-w-96">
              <Link
                to="/contacts"
                search={{ ...filter, open: contact.email }}
                data-row
                className="cover font-medium"
              >
                {contact.email}
              </Link>
              <div className="text-left text-soft md:hidden" dir="auto">
                {fullName(contact)}
              </div>
            </Td>
            <Td hideBelow="md" className="max-w-72">
              <bdi>{fullName(contact)}</bdi>
            </Td>
            <Td hideBelow="md" className="text-soft">
              {contact.locale}
            </Td>
            <Td hideBelow="md">
              <span className="flex flex-wrap gap-1">
                {Object.keys(contact.attributes)
                  .slice(0, 4)
                  .map((name) => (
                    <Badge key={name}>{name}</Badge>
                  ))}
              </span>
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={contact.updated_at} />
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

function fullName({ first_name, last_name }: Contact): string {
  return [first_name, last_name].filter(Boolean).join(' ');
}

const CONTACT = { first_name: 'Jane', attributes: { plan: 'pro' } };

function NoContacts({ filtered }: { filtered: boolean }) {
  if (filtered) return <EmptyState icon={SearchX} title="No contacts found" />;
  return (
    <EmptyState
      icon={BookUser}
      title="No contacts yet"
      example={
        <ShellExample
          scopes={['write:contacts']}
          code={({ token }) => curlSnippet('/contacts/jane@example.com', token, CONTACT, '-X PUT ')}
        />
      }
    >
      Contacts are optional. With them, templates can use names and attributes without passing them
      in every request.
    </EmptyState>
  );
}
