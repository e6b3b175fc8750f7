-- The public library of Porthaven, an invented harbour town: nine tables in the schema "library".
-- Plain SQL for PostgreSQL 15 and newer, encoding UTF8, built with ICU. Run as the owner of the database.

create schema library;
comment on schema library is 'Catalogue, holdings, members and circulation of the public library of Porthaven.';

-- What a search compares: lower case, without accents, vowel marks and
-- the punctuation of other scripts, with full-width forms and ligatures unified.
-- The ICU collation makes lower() know Greek and Cyrillic whatever locale the cluster was created with.
create function library.fold(value text) returns text
  language sql immutable strict parallel safe
  return translate(
    lower(regexp_replace(
      normalize(value, nfkd),
      '[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]', '', 'g'
    ) collate "und-x-icu"),
    'łøđıς。、।؟،', 'lodiσ     '
  );
comment on function library.fold(text) is 'Text reduced to what a search compares: no case, no accents.';

create type library.copy_status as enum ('available', 'on_loan', 'in_repair', 'lost', 'withdrawn');
comment on type library.copy_status is 'Where a copy is: only "available" ones stand on the shelf.';

create table library.branches (
  id            smallint primary key,
  code          text not null unique check (code ~ '^[a-z]+$'),
  name          text not null,
  name_irish    text not null,
  address       text,
  latitude      numeric(8, 5) check (latitude between -90 and 90),
  longitude     numeric(8, 5) check (longitude between -180 and 180),
  opened_on     date not null,
  step_free     boolean not null,
  languages     text[] not null check (cardinality(languages) > 0),
  opening_hours jsonb not null check (jsonb_typeof(opening_hours) = 'object'),
  check ((latitude is null) = (longitude is null))
);
comment on column library.branches.address is 'NULL for the bookmobile, which has no fixed place.';
comment on column library.branches.step_free is 'Reachable without steps.';
comment on column library.branches.languages is 'Languages that the staff speak, as BCP 47 tags.';
comment on column library.branches.opening_hours is 'Weekday to ["opens", "closes"] in local time, or null when closed.';

create table library.authors (
  id         integer primary key,
  name       text not null,
  name_latin text not null,
  language   text not null check (language ~ '^[a-z]{2,3}$'),
  birth_year smallint check (birth_year between -1000 and 2020),
  death_year smallint check (death_year >= birth_year),
  search_text text not null generated always as (library.fold(name || ' ' || name_latin)) stored,
  unique (name, name_latin)
);
comment on column library.authors.name is 'In the writing of the author''s own language.';
comment on column library.authors.name_latin is 'In Latin letters; the same as name where that is Latin already.';
comment on column library.authors.birth_year is 'NULL where unknown.';

create table library.books (
  id               integer primary key,
  isbn             text unique check (isbn ~ '^97[89][0-9]{10}$'),
  title            text not null check (title <> ''),
  title_english    text,
  language         text not null check (language ~ '^[a-z]{2,3}$'),
  published_year   smallint check (published_year between 500 and 2026),
  subjects         text[] not null check (cardinality(subjects) > 0),
  attributes       jsonb not null check (jsonb_typeof(attributes) = 'object'),
  replacement_cost numeric(8, 2) not null check (replacement_cost > 0),
  added_on         date not null,
  search_text      text not null
    generated always as (library.fold(title || coalesce(' ' || title_english, ''))) stored
);
comment on table library.books is 'One row for each title in the catalogue; its physical copies are in copies.';
comment on column library.books.isbn is 'NULL for editions older than the ISBN. Generated ones begin with 9799, a range not in use.';
comment on column library.books.title_english is 'NULL where the title is English already.';
comment on column library.books.published_year is 'Year of the original work; NULL where nobody knows.';
comment on column library.books.attributes is 'Whatever else is known: pages, binding, audience, series, large_print.';
comment on column library.books.replacement_cost is 'What a lost copy costs, in euro.';
comment on column library.books.added_on is 'Day on which the title entered the catalogue.';
create index books_added_on on library.books (added_on, id);
create index books_language on library.books (language);
create index books_subjects on library.books using gin (subjects);
create index books_attributes on library.books using gin (attributes jsonb_path_ops);

create table library.book_authors (
  book_id   integer not null references library.books on delete cascade,
  author_id integer not null references library.authors,
  position  smallint not null check (position > 0),
  primary key (book_id, position),
  unique (book_id, author_id)
);
comment on table library.book_authors is 'Who wrote what. A book of unknown authorship has no row here.';
create index book_authors_author on library.book_authors (author_id);

create table library.copies (
  id          integer primary key,
  book_id     integer not null references library.books,
  branch_id   smallint not null references library.branches,
  barcode     text not null unique check (barcode ~ '^PH[0-9]{8}$'),
  shelf_mark  text not null,
  status      library.copy_status not null default 'available',
  acquired_on date not null,
  note        text
);
create index copies_book on library.copies (book_id);
create index copies_branch on library.copies (branch_id, status);

create table library.members (
  id             integer primary key,
  card           uuid not null unique,
  full_name      text not null,
  email          text unique check (email like '%_@_%'),
  birth_date     date not null,
  category       text not null check (category in ('child', 'adult', 'student', 'senior')),
  home_branch_id smallint not null references library.branches,
  language       text not null,
  joined_on      date not null check (joined_on >= birth_date),
  active         boolean not null default true
);
comment on column library.members.card is 'The only name by which a member is known outside the library.';
comment on column library.members.full_name is 'Personal: not granted to library_reader, as are email and birth_date.';
comment on column library.members.email is 'NULL for members who gave none.';
create index members_home_branch on library.members (home_branch_id);

create table library.loans (
  id          integer primary key,
  copy_id     integer not null references library.copies,
  member_id   integer not null references library.members,
  loaned_at   timestamptz not null,
  loaned_on   date not null generated always as ((loaned_at at time zone 'Europe/Dublin')::date) stored,
  due_on      date not null,
  returned_at timestamptz,
  returned_on date generated always as ((returned_at at time zone 'Europe/Dublin')::date) stored,
  renewals    smallint not null default 0 check (renewals between 0 and 3),
  check (returned_at > loaned_at),
  check (due_on > (loaned_at at time zone 'Europe/Dublin')::date)
);
comment on column library.loans.loaned_on is 'Day of loaned_at on the library''s own clock.';
comment on column library.loans.returned_at is 'NULL while the copy is out.';
create unique index loans_one_open_per_copy on library.loans (copy_id) where returned_at is null;
create index loans_loaned_on on library.loans (loaned_on);
create index loans_copy on library.loans (copy_id, loaned_on);
create index loans_member on library.loans (member_id, loaned_on);
create index loans_open_due on library.loans (due_on) where returned_at is null;

create table library.fines (
  id          integer primary key,
  loan_id     integer not null references library.loans,
  reason      text not null check (reason in ('late', 'damaged', 'lost')),
  amount      numeric(8, 2) not null check (amount > 0),
  assessed_on date not null,
  paid_on     date check (paid_on >= assessed_on),
  waived      boolean not null default false,
  unique (loan_id, reason),
  check (not (waived and paid_on is not null))
);
comment on column library.fines.amount is 'In euro.';
comment on column library.fines.paid_on is 'NULL while unpaid, and for ever when waived.';
create index fines_assessed_on on library.fines (assessed_on);

create table library.reviews (
  id         integer primary key,
  book_id    integer not null references library.books,
  member_id  integer not null references library.members,
  stars      smallint not null check (stars between 1 and 5),
  language   text,
  body       text check (body <> ''),
  written_at timestamptz not null,
  published  boolean not null,
  body_words tsvector generated always as (to_tsvector('simple', library.fold(coalesce(body, '')))) stored,
  unique (book_id, member_id),
  check ((language is null) = (body is null))
);
comment on column library.reviews.body is 'NULL where the member gave stars only.';
comment on column library.reviews.published is 'False until a moderator has read it.';
comment on column library.reviews.body_words is 'For full text search of the folded text; "simple" because there are many languages.';
create index reviews_book on library.reviews (book_id) where published;
create index reviews_body_words on library.reviews using gin (body_words);

-- Callers read published reviews; only the API key named "moderator" also reads those that wait.
-- The agent sets svc.api_key_name for each call; it is NULL or empty in any other session.
alter table library.reviews enable row level security;
create policy reviews_for_callers on library.reviews for select
  using (published or current_setting('svc.api_key_name', true) = 'moderator');
