-- The tables of Chinook, the music shop, after their public structure with its mixed-case names; the rows are invented.
create table "Artist" ("ArtistId" int primary key, "Name" varchar(120));
create table "Album" (
  "AlbumId" int primary key,
  "Title" varchar(160) not null,
  "ArtistId" int not null references "Artist"
);
create index "IFK_AlbumArtistId" on "Album" ("ArtistId");
create table "Employee" (
  "EmployeeId" int primary key,
  "LastName" varchar(20) not null,
  "FirstName" varchar(20) not null,
  "Title" varchar(30),
  "ReportsTo" int references "Employee",
  "BirthDate" timestamp,
  "HireDate" timestamp,
  "Address" varchar(70),
  "City" varchar(40),
  "State" varchar(40),
  "Country" varchar(40),
  "PostalCode" varchar(10),
  "Phone" varchar(24),
  "Fax" varchar(24),
  "Email" varchar(60)
);
create table "Customer" (
  "CustomerId" int primary key,
  "FirstName" varchar(40) not null,
  "LastName" varchar(20) not null,
  "Company" varchar(80),
  "Address" varchar(70),
  "City" varchar(40),
  "State" varchar(40),
  "Country" varchar(40),
  "PostalCode" varchar(10),
  "Phone" varchar(24),
  "Fax" varchar(24),
  "Email" varchar(60) not null,
  "SupportRepId" int references "Employee"
);
create index "IFK_CustomerSupportRepId" on "Customer" ("SupportRepId");
create table "Genre" ("GenreId" int primary key, "Name" varchar(120));
create table "MediaType" ("MediaTypeId" int primary key, "Name" varchar(120));
create table "Playlist" ("PlaylistId" int primary key, "Name" varchar(120));
create table "Track" (
  "TrackId" int primary key,
  "Name" varchar(200) not null,
  "AlbumId" int references "Album",
  "MediaTypeId" int not null references "MediaType",
  "GenreId" int references "Genre",
  "Composer" varchar(220),
  "Milliseconds" int not null,
  "Bytes" int,
  "UnitPrice" numeric(10, 2) not null
);
create index "IFK_TrackAlbumId" on "Track" ("AlbumId");
create index "IFK_TrackGenreId" on "Track" ("GenreId");
create table "PlaylistTrack" (
  "PlaylistId" int not null references "Playlist",
  "TrackId" int not null references "Track",
  primary key ("PlaylistId", "TrackId")
);
create table "Invoice" (
  "InvoiceId" int primary key,
  "CustomerId" int not null references "Customer",
  "InvoiceDate" timestamp not null,
  "BillingAddress" varchar(70),
  "BillingCity" varchar(40),
  "BillingState" varchar(40),
  "BillingCountry" varchar(40),
  "BillingPostalCode" varchar(10),
  "Total" numeric(10, 2) not null
);
create index "IFK_InvoiceCustomerId" on "Invoice" ("CustomerId");
create table "InvoiceLine" (
  "InvoiceLineId" int primary key,
  "InvoiceId" int not null references "Invoice",
  "TrackId" int not null references "Track",
  "UnitPrice" numeric(10, 2) not null,
  "Quantity" int not null
);
create index "IFK_InvoiceLineInvoiceId" on "InvoiceLine" ("InvoiceId");

insert into "Artist" values (1, 'The Slow Ferries'), (2, null);
insert into "Album" values (1, 'Tide Tables', 1), (2, 'Harbour Lights', 1);
insert into "Employee" ("EmployeeId", "LastName", "FirstName", "HireDate") values (1, 'A', 'B', '2020-01-01');
insert into "Customer" ("CustomerId", "FirstName", "LastName", "Email", "SupportRepId") values (1, 'C', 'D', 'c@example.com', 1);
insert into "Genre" values (1, 'Folk');
insert into "MediaType" values (1, 'Vinyl');
insert into "Playlist" values (1, 'Evening');
insert into "Track" values (1, 'Low Water', 1, 1, 1, null, 201000, 5000000, 0.99), (2, 'High Water', 1, 1, null, 'E. Moss', 180000, null, 0.99);
insert into "PlaylistTrack" values (1, 1), (1, 2);
insert into "Invoice" ("InvoiceId", "CustomerId", "InvoiceDate", "Total") values (1, 1, '2024-05-01', 1.98);
insert into "InvoiceLine" values (1, 1, 1, 0.99, 1), (2, 1, 2, 0.99, 1);
