-- Templates, layouts and partials, with their drafts and published versions. Shared by both modes.

create table templates (
  workspace_id uuid not null references workspaces,
  kind text not null check (kind in ('template', 'layout', 'partial')),
  key text collate "C" not null,
  id uuid not null,
  name text not null,
  -- What its author works on. `draft_revision` counts its changes: with the id it names one state.
  draft json not null,
  draft_revision integer not null default 1,
  draft_hash bytea not null,
  -- For lists, which must not read whole drafts; and what the draft uses: the key of its layout, and
  -- of the partials that it renders itself.
  draft_subject text,
  draft_locales text[] not null,
  draft_layout text collate "C",
  draft_partials text[] not null,
  -- Null: never published.
  published_version integer,
  last_version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  updated_by text not null,
  primary key (workspace_id, kind, key),
  unique (workspace_id, kind, id)
);

-- Written once, never changed: a number means the same words for ever.
create table template_versions (
  workspace_id uuid not null,
  kind text not null,
  key text collate "C" not null,
  version integer not null,
  content json not null,
  content_hash bytea not null,
  layout text collate "C",
  partials text[] not null,
  primary key (workspace_id, kind, key, version),
  foreign key (workspace_id, kind, key) references templates on delete cascade
);

create index template_versions_layout on template_versions (workspace_id, layout)
  where layout is not null;

-- Each time a version became the one that sends use; a version can be published again.
create table template_publications (
  workspace_id uuid not null,
  kind text not null,
  key text collate "C" not null,
  ordinal integer not null,
  version integer not null,
  published_at timestamptz not null,
  published_by text not null,
  note text,
  primary key (workspace_id, kind, key, ordinal),
  foreign key (workspace_id, kind, key, version) references template_versions on delete cascade
);

-- A template that scheduled messages were made from is not deleted by accident.
create index messages_scheduled_template on messages (workspace_id, template_key, scheduled_at)
  where scheduled_at is not null and template_key is not null;

-- A message made with secret values has their places redacted in messages.subject and here in head,
-- html and text; its real words are sealed with SECRET_KEY for the delivery engine and the test
-- inbox alone. Empty: the real words are gone, and what is left must not be sent.
alter table message_contents add column sealed bytea;

create index message_contents_sealed on message_contents (workspace_id, id)
  where mode = 'live' and octet_length(sealed) > 0;
