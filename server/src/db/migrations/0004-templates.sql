-- Templates, layouts and partials with their drafts and published versions. Shared by both modes.

create table templates (
  workspace_id uuid not null references workspaces,
  kind text not null check (kind in ('template', 'layout', 'partial')),
  key text collate "C" not null,
  id uuid not null,
  name text not null,
  draft json not null,
  -- Incremented by every change; the id and the revision together identify one state of the draft.
  draft_revision integer not null default 1,
  draft_hash bytea not null,
  -- Copies of parts of the draft, so that lists and dependency checks do not read whole drafts.
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

-- Immutable: a version number always means the same content.
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

-- One row each time a version became the published one. A version can be published again.
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
