import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { FileCode2, Plus } from 'lucide-react';
import { useState } from 'react';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Field, Select } from '../../components/field.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { NameAndKeyFields, useNameAndKey } from '../../components/name-and-key-fields.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { type Mode, useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { type ExampleValues, ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet } from '../api-keys/snippet-code.ts';
import {
  type ContentKind,
  contentApi,
  isKind,
  KINDS,
  type TemplateSummary,
} from './content-api.ts';
import { STARTERS, TEMPLATE_STARTERS } from './starters.ts';

export function TemplatesPage() {
  const search = useSearch({ from: '/inside/templates' });
  const kind = isKind(search.kind) ? search.kind : 'template';
  const { api, key } = useApi();
  const can = useCan()('write:templates');
  const navigate = useNavigate();
  const filter = search.q === undefined ? {} : { q: search.q };
  const list = usePaginatedQuery(key('templates', kind, search.q), (cursor) =>
    contentApi(api, kind).list({ ...pageParams(cursor), ...filter }),
  );
  const go = (next: { q?: string; new?: string }) =>
    void navigate({ to: '/templates', search: { kind, ...next }, replace: next.new === undefined });
  const openForm = (on: boolean) => go({ ...filter, ...(on ? { new: 'true' } : {}) });
  const createButton = can && (
    <Button kind="primary" icon={Plus} onClick={() => openForm(true)}>
      New {KINDS[kind].one}
    </Button>
  );
  return (
    <Page full title="Templates" description={KINDS[kind].hint} actions={createButton}>
      <nav aria-label="Kinds" className="flex gap-1 px-4 pb-3 sm:px-6">
        {Object.entries(KINDS).map(([value, { many }]) => (
          <Link
            key={value}
            to="/templates"
            search={{ kind: value, ...filter }}
            aria-current={value === kind ? 'page' : undefined}
            className={classNames(
              'rounded-md px-2.5 py-1 text-sm font-medium',
              value === kind ? 'bg-accent-wash text-accent-ink' : 'text-soft hover:bg-sunken',
            )}
          >
            {many}
          </Link>
        ))}
      </nav>
      <search className="flex items-center gap-3 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search keys, names and subjects"
          value={search.q ?? ''}
          onChange={(q) => go({ q })}
        />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one={KINDS[kind].one} />
      </search>
      <PaginatedList
        list={list}
        placeholderRows={5}
        empty={
          search.q !== undefined ? (
            <NoSearchResults
              what={KINDS[kind].one}
              text={search.q}
              where="keys, names and subjects"
              onClear={() => go({})}
            />
          ) : (
            <NoTemplates kind={kind} action={createButton} />
          )
        }
      >
        <TemplateTable kind={kind} rows={list.rows} />
      </PaginatedList>
      {search.new !== undefined && can && (
        <NewTemplate kind={kind} onClose={() => openForm(false)} />
      )}
    </Page>
  );
}

function TemplateTable({ kind, rows }: { kind: ContentKind; rows: TemplateSummary[] }) {
  return (
    <Table label={KINDS[kind].many}>
      <thead>
        <tr>
          <Th>Name</Th>
          <Th>Published</Th>
          <Th hideBelow="md">Subject</Th>
          <Th hideBelow="md">Languages</Th>
          <Th hideBelow="md">Updated</Th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Tr key={row.id} className="row-link">
            <Td className="max-w-96">
              <Link
                to="/templates/$kind/$key"
                params={{ kind, key: row.key }}
                data-row
                className="cover font-medium"
              >
                {row.name}
              </Link>
              <div className="font-mono text-xs text-faint">{row.key}</div>
            </Td>
            <Td>
              <PublishedBadge template={row} />
            </Td>
            <Td hideBelow="md" dir="auto" className="max-w-80 truncate text-left text-soft">
              {row.subject}
            </Td>
            <Td hideBelow="md" className="text-soft">
              {row.locales.join(', ')}
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={row.updated_at} />
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

export function PublishedBadge({
  template,
}: {
  template: { published_version: number | null; has_unpublished_changes: boolean };
}) {
  if (template.published_version === null) return <Badge tone="warn">Draft</Badge>;
  return (
    <span className="flex flex-wrap gap-1.5">
      <Badge tone="good">Version {template.published_version}</Badge>
      {template.has_unpublished_changes && <Badge tone="warn">Unpublished changes</Badge>}
    </span>
  );
}

function NoTemplates({ kind, action }: { kind: ContentKind; action: React.ReactNode }) {
  const { mode } = useSelection();
  return (
    <EmptyState
      icon={FileCode2}
      title={`No ${KINDS[kind].one}s yet`}
      actions={action}
      example={
        kind === 'template' && (
          <ShellExample
            scopes={['write:templates', 'send:transactional']}
            code={(values) => templateExample(mode, values)}
          />
        )
      }
    >
      {KINDS[kind].use}
    </EmptyState>
  );
}

/** Creates a template and sends it. Only live keys can publish; test keys can send drafts. */
function templateExample(mode: Mode, { token, from, to }: ExampleValues): string {
  const publish = curlSnippet('/templates/welcome/publish', token, undefined, '-X POST ');
  const send = {
    to: { email: to },
    from: { email: from },
    template_key: 'welcome',
    ...(mode === 'test' ? { template_version: 'draft' } : {}),
    template_variables: { first_name: 'Jane' },
  };
  return [
    curlSnippet('/templates', token, {
      key: 'welcome',
      name: 'Welcome',
      subject: 'Welcome, ${first_name}',
      html: '<p>Hello {{ first_name }}!</p>',
    }),
    ...(mode === 'live' ? [publish] : []),
    curlSnippet('/transactional/send', token, send),
  ].join('\n\n');
}

function NewTemplate({ kind, onClose }: { kind: ContentKind; onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const named = useNameAndKey({ name: 200, key: 128 });
  const [starter, setStarter] = useState(TEMPLATE_STARTERS[0]);
  const creating = useMutation({
    mutationFn: () =>
      contentApi(api, kind).create({
        key: named.key,
        name: named.name.trim(),
        ...(kind === 'template' ? starter?.content : STARTERS[kind]),
      }),
    onSuccess: (created) => {
      void queries.invalidateQueries({ queryKey: ['templates'] });
      void navigate({ to: '/templates/$kind/$key', params: { kind, key: created.key } });
    },
  });
  return (
    <Dialog title={`New ${KINDS[kind].one}`} onClose={onClose}>
      <DialogForm
        saving={creating}
        fields={['/name', '/key']}
        submitLabel="Create"
        onClose={onClose}
      >
        <NameAndKeyFields value={named} placeholder="Welcome" error={creating.error} />
        {kind === 'template' && (
          <Field label="Start from" hint="You can change everything later.">
            <Select
              value={starter?.label ?? ''}
              onChange={({ target: { value } }) => {
                setStarter(TEMPLATE_STARTERS.find(({ label }) => label === value));
                if (isSuggested(named.name)) named.setName(value === 'Blank' ? '' : value);
              }}
            >
              {TEMPLATE_STARTERS.map(({ label }) => (
                <option key={label}>{label}</option>
              ))}
            </Select>
          </Field>
        )}
      </DialogForm>
    </Dialog>
  );
}

/** Whether no name was typed. */
function isSuggested(name: string): boolean {
  return name === '' || TEMPLATE_STARTERS.some(({ label }) => label === name);
}
