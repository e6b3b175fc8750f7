-- The tables of Pagila, the DVD rental shop, after their public structure; the rows are invented.
create type mpaa_rating as enum ('G', 'PG', 'PG-13', 'R', 'NC-17');
create domain year as integer check (value >= 1901 and value <= 2155);
create domain bigint_id as bigint not null;

create table actor (
  actor_id serial primary key,
  first_name text not null,
  last_name text not null,
  last_update timestamptz not null default now()
);
create index idx_actor_last_name on actor (last_name);
create table category (
  category_id serial primary key,
  name text not null,
  last_update timestamptz not null default now()
);
create table country (
  country_id serial primary key,
  country text not null,
  last_update timestamptz not null default now()
);
create table city (
  city_id serial primary key,
  city text not null,
  country_id integer not null references country,
  last_update timestamptz not null default now()
);
create index idx_fk_country_id on city (country_id);
create table address (
  address_id serial primary key,
  address text not null,
  address2 text,
  district text not null,
  city_id integer not null references city,
  postal_code text,
  phone text not null,
  last_update timestamptz not null default now()
);
create index idx_fk_city_id on address (city_id);
create table language (
  language_id serial primary key,
  name character(20) not null,
  last_update timestamptz not null default now()
);
create table film (
  film_id serial primary key,
  title text not null,
  description text,
  release_year year,
  language_id integer not null references language,
  original_language_id integer references language,
  rental_duration smallint not null default 3,
  rental_rate numeric(4, 2) not null default 4.99,
  length smallint,
  replacement_cost numeric(5, 2) not null default 19.99,
  rating mpaa_rating default 'G',
  special_features text[],
  fulltext tsvector,
  last_update timestamptz not null default now()
);
comment on table film is 'Films that the shop rents out.';
comment on column film.rental_rate is 'Price of one rental, in dollars';
create index film_fulltext_idx on film using gist (fulltext);
create index idx_fk_language_id on film (language_id);
create index idx_fk_original_language_id on film (original_language_id);
create index idx_title on film (title);
create table film_actor (
  actor_id integer not null references actor,
  film_id integer not null references film,
  last_update timestamptz not null default now(),
  primary key (actor_id, film_id)
);
create index idx_fk_film_id on film_actor (film_id);
create table film_category (
  film_id integer not null references film,
  category_id integer not null references category,
  last_update timestamptz not null default now(),
  primary key (film_id, category_id)
);
create table store (
  store_id serial primary key,
  manager_staff_id integer not null,
  address_id integer not null references address,
  last_update timestamptz not null default now()
);
create unique index idx_unq_manager_staff_id on store (manager_staff_id);
create table staff (
  staff_id serial primary key,
  first_name text not null,
  last_name text not null,
  address_id integer not null references address,
  email text,
  store_id integer not null references store,
  active boolean not null default true,
  username text not null,
  password text,
  last_update timestamptz not null default now(),
  picture bytea
);
create table customer (
  customer_id serial primary key,
  store_id integer not null references store,
  first_name text not null,
  last_name text not null,
  email text,
  address_id integer not null references address,
  activebool boolean not null default true,
  create_date date not null default current_date,
  last_update timestamptz default now(),
  active integer
);
create index idx_fk_address_id on customer (address_id);
create index idx_fk_store_id on customer (store_id);
create index idx_last_name on customer (last_name);
create table inventory (
  inventory_id serial primary key,
  film_id integer not null references film,
  store_id integer not null references store,
  last_update timestamptz not null default now()
);
create index idx_store_id_film_id on inventory (store_id, film_id);
create table rental (
  rental_id serial primary key,
  rental_date timestamptz not null,
  inventory_id integer not null references inventory,
  customer_id integer not null references customer,
  return_date timestamptz,
  staff_id integer not null references staff,
  last_update timestamptz not null default now()
);
create index idx_fk_inventory_id on rental (inventory_id);
create unique index idx_unq_rental on rental (rental_date, inventory_id, customer_id);
create table payment (
  payment_id serial,
  customer_id integer not null,
  staff_id integer not null,
  rental_id integer not null,
  amount numeric(5, 2) not null,
  payment_date timestamptz not null,
  primary key (payment_date, payment_id)
) partition by range (payment_date);
create table payment_p2022_01 partition of payment for values from ('2022-01-01') to ('2022-02-01');
create table payment_p2022_02 partition of payment for values from ('2022-02-01') to ('2022-03-01');
alter table payment_p2022_01 add foreign key (rental_id) references rental;
create index idx_payment_customer on payment (customer_id);

create view film_list as
  select f.film_id as fid, f.title, c.name as category, f.rental_rate as price
  from film f left join film_category fc using (film_id) left join category c using (category_id);
create view customer_list as
  select cu.customer_id as id, cu.first_name || ' ' || cu.last_name as name, a.address, a.phone, ci.city
  from customer cu join address a using (address_id) join city ci using (city_id);
create materialized view rental_by_category as
  select c.name as category, count(*) as rentals
  from rental r join inventory i using (inventory_id) join film_category fc using (film_id)
    join category c using (category_id) group by c.name;
create unique index rental_category on rental_by_category (category);

insert into actor (first_name, last_name) values ('Orla', 'Brannigan'), ('Tevin', 'Okafor');
insert into category (name) values ('Drama'), ('Documentary');
insert into country (country) values ('Ireland'), ('Ghana');
insert into city (city, country_id) values ('Sligo', 1), ('Kumasi', 2);
insert into address (address, district, city_id, phone) values ('1 Quay Street', 'Sligo', 1, '0'), ('2 Lake Road', 'Ashanti', 2, '0');
insert into language (name) values ('English'), ('Irish');
insert into film (title, description, release_year, language_id, original_language_id, rating, special_features, length)
  values ('ABSENT HARBOUR', 'A lighthouse keeper 100% alone', 2006, 1, 2, 'PG', '{Trailers}', 86),
    ('BORROWED TIDE', null, 2007, 1, null, 'NC-17', null, null);
insert into film_actor values (1, 1), (1, 2), (2, 2);
insert into film_category values (1, 1), (2, 2);
insert into store (manager_staff_id, address_id) values (1, 1), (2, 2);
insert into staff (first_name, last_name, address_id, store_id, username, password) values ('A', 'B', 1, 1, 'ab', 'x');
insert into customer (store_id, first_name, last_name, address_id) values (1, 'C', 'D', 2), (2, 'E', 'F', 1);
insert into inventory (film_id, store_id) values (1, 1), (2, 2);
insert into rental (rental_date, inventory_id, customer_id, staff_id) values ('2022-01-05 10:00+00', 1, 1, 1), ('2022-02-05 10:00+00', 2, 2, 1);
insert into payment (customer_id, staff_id, rental_id, amount, payment_date)
  values (1, 1, 1, 2.99, '2022-01-06 10:00+00'), (2, 1, 2, 4.99, '2022-02-06 10:00+00');
refresh materialized view rental_by_category;
