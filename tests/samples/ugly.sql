-- What makes names and tables hard to deal with. Rows are invented.
create schema "Odd Drawer";
create schema "select";
create extension if not exists pg_trgm;

create type "Odd Drawer"."Mood of: day" as enum ('sad', 'it''s "ok"', 'glad ${HOME}');
create domain "Odd Drawer".code as varchar(8) check (value in ('a', 'b''c', 'd'));

create table "Odd Drawer"."Order Details" (
  "Order ID" bigint primary key,
  "select" text not null,
  "a ""quoted"" name" text,
  "colon:name" integer,
  "12" integer,
  "${HOME}" text,
  "line
break" text,
  "größe" numeric,
  "数量" integer not null,
  "Mood" "Odd Drawer"."Mood of: day",
  code "Odd Drawer".code not null,
  state text not null check (state in ('open', 'won''t do', 'done')),
  "count" integer,
  "limit" integer
);
comment on table "Odd Drawer"."Order Details" is E'First line.\nSecond: "${HOME}" # no comment';
comment on column "Odd Drawer"."Order Details"."größe" is 'In cm: ''net''';
create index on "Odd Drawer"."Order Details" ("limit");
create index on "Odd Drawer"."Order Details" ("数量");
create index on "Odd Drawer"."Order Details" ("select");
insert into "Odd Drawer"."Order Details" values
  (1, 'x', 'y', 2, 3, '$', 'l', 1.5, 4, 'sad', 'a', 'open', 1, 1), (2, 'z', null, null, null, null, null, null, 0, null, 'd', 'done', 2, 2);

create table "Odd Drawer"."order_details" (id uuid primary key, parent bigint references "Odd Drawer"."Order Details");
insert into "Odd Drawer"."order_details" values ('00000000-0000-0000-0000-000000000001', 1);
create table "select"."table" ("from" integer, "where" text, primary key ("where", "from"));
insert into "select"."table" values (1, 'a'), (2, 'a'), (1, 'b');
create table public."table" (id integer primary key, "order" integer unique, "group" char(4) not null unique);
insert into public."table" values (1, 1, 'a');
create table "客户" ("编号" integer primary key, "名" text);
create table "顾客" ("编号" integer primary key, "名" text);
insert into "客户" values (1, 'x');
create table "Straße" ("Id" smallint primary key);
create table a_table_with_a_name_that_is_as_long_as_postgresql_lets_one_be_ (id integer primary key, another_name_that_is_as_long_as_postgresql_lets_it_be_________ integer unique);
create table a_table_with_a_name_that_is_as_long_as_postgresql_lets_one_bex (id integer primary key);

create table odd_columns (
  id integer primary key,
  "__proto__" text,
  "constructor" integer,
  U&"clears\001B[2J" text,
  U&"turns\202Eround" text,
  U&"next\2028line" text
);
insert into odd_columns values (1, 'x', 2, 'y', 'z', 'l');
create table U&"unseen\0007" (id integer primary key, parent integer references odd_columns);

create table no_key (id integer, note text, state text check (state in ('a', 'b')));
insert into no_key values (1, 'it is 100% \ odd_', 'a');
create table nothing ();
create table only_secrets (password text primary key, token text);
create table null_key (id integer unique, note text);
create table by_bytes (id bytea primary key, note text);
create table by_range (id int4range primary key);
create table big_numbers (id numeric primary key, exact numeric(30, 0), at timestamp, span interval, price money, doc json, docs jsonb[], spot point);
insert into big_numbers values (12345.5, 1, 'infinity', '1 day', 3, '[1]', '{"{}"}', '(1,2)');
create table expressions (id integer primary key, title text, deleted_at timestamptz);
create unique index on expressions (lower(title));
create unique index on expressions (title) where deleted_at is null;
create index on expressions using gin (title gin_trgm_ops);
insert into expressions values (1, '50%_off\'), (2, '50 of');

create table measured (at timestamptz not null, sensor integer not null, reading double precision, primary key (sensor, at)) partition by list (sensor);
create table measured_1 partition of measured for values in (1) partition by range (at);
create table measured_1_a partition of measured_1 for values from ('2024-01-01') to ('2025-01-01');
create table measured_rest partition of measured default;
insert into measured values ('2024-05-01', 1, 'NaN'), ('2024-05-01', 2, 1.5);

create table tenant_note (id integer primary key, tenant text not null, note text);
alter table tenant_note enable row level security;
insert into tenant_note values (1, 'a', 'b');

create schema types;
create type types.level as enum ('low', 'high');
create domain types.some_level as types.level;
create table leveled (level types.level not null, other types.some_level not null, id integer not null, primary key (level, id));
insert into leveled values ('low', 'high', 1);

create view "A View" as select id, note from no_key;
create view pg_like as select 1 as one;
