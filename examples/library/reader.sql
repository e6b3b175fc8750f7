-- The account that the agent uses: it reads what the capabilities need, and nothing else.
-- It has no password here. Set one afterwards: alter role library_reader password '...';
-- Can be run again. Run as a superuser or as the owner of the database with CREATEROLE.

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'library_reader') then
    create role library_reader;
  end if;
  -- Databases have different names, and GRANT takes no expression.
  execute format('revoke create, temporary on database %I from public', current_database());
  execute format('grant connect on database %I to library_reader', current_database());
end
$$;

alter role library_reader with login;
alter role library_reader set default_transaction_read_only = on;

revoke create on schema public from public;

grant usage on schema library to library_reader;
grant select on
  library.branches, library.authors, library.books, library.book_authors,
  library.copies, library.loans, library.fines, library.reviews
  to library_reader;
-- Names, email addresses and dates of birth stay inside.
grant select (id, card, category, home_branch_id, joined_on, active) on library.members to library_reader;
