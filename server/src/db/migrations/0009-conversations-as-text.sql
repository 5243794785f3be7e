-- The conversation of an attempt as plain lines instead of JSON: see mail/smtp-transcript.ts.

create function conversation_as_text(conversation json) returns text language sql immutable as $$
  select (conversation ->> 'startedAt') || coalesce(string_agg(
    E'\n' || (line ->> 'atMs') || ' '
      || case line ->> 'by' when 'client' then '>' when 'server' then '<' else '-' end
      || ' ' || translate(line ->> 'text', E'\n', ' '), '' order by n), '')
  from json_array_elements(conversation -> 'lines') with ordinality as lines(line, n)
$$;

alter table attempts alter column transcript type text using conversation_as_text(transcript);

drop function conversation_as_text(json);
