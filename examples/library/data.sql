-- Sample data for schema.sql: the same rows on every run, up to the evening of 31 October 2026.
-- The works in part 1 are real. All other titles, people, loans and reviews are made up from word lists,
-- by arithmetic on md5() instead of random(). Takes a few seconds.

begin;
-- Compiling these one-time statements takes longer than running them.
set local jit = off;
set local work_mem = '64MB';

-- A whole number from 0 up to n - 1 that depends on the key only.
create function pg_temp.roll(key text, n bigint) returns integer language sql immutable
  return ((('x' || left(md5(key), 8))::bit(32)::bigint % n)::integer);
create function pg_temp.pick(items text[], key text) returns text language sql immutable
  return (items[1 + pg_temp.roll(key, cardinality(items))]);
create function pg_temp.words(list text) returns text[] language sql immutable
  return (string_to_array(list, ', '));
create function pg_temp.at_library(day date, minute integer) returns timestamptz language sql stable
  return ((day + make_interval(mins => minute)) at time zone 'Europe/Dublin');

-- 1. Branches, and real works with their authors ------------------------------------------------------

insert into library.branches values
  (1, 'central', 'Central Library', 'An Leabharlann Lárnach', '1 Assembly Square', 53.34410, -6.01240, '1908-05-04', true,
    '{en,ga,pl,fr,uk,ar}', '{"mon": ["09:30", "20:00"], "tue": ["09:30", "20:00"], "wed": ["09:30", "20:00"], "thu": ["09:30", "20:00"], "fri": ["09:30", "18:00"], "sat": ["10:00", "17:00"], "sun": null}'),
  (2, 'harbour', 'Harbour Branch', 'Brainse an Chuain', '14 Old Quay', 53.34032, -5.99871, '1931-09-12', true,
    '{en,pt,es,ru}', '{"mon": null, "tue": ["10:00", "18:00"], "wed": ["10:00", "18:00"], "thu": ["10:00", "20:00"], "fri": ["10:00", "18:00"], "sat": ["10:00", "16:00"], "sun": null}'),
  (3, 'hill', 'Beacon Hill Branch', 'Brainse Chnoc an Tine', '87 Beacon Road', 53.35221, -6.02995, '1964-03-17', false,
    '{en,ga}', '{"mon": ["10:00", "17:00"], "tue": ["10:00", "17:00"], "wed": null, "thu": ["10:00", "19:00"], "fri": ["10:00", "17:00"], "sat": ["10:00", "14:00"], "sun": null}'),
  (4, 'market', 'Market Street Branch', 'Brainse Shráid an Mhargaidh', '32 Market Street', 53.34689, -6.00713, '1978-11-20', true,
    '{en,zh,hi,bn,tr}', '{"mon": ["09:30", "19:00"], "tue": ["09:30", "19:00"], "wed": ["09:30", "19:00"], "thu": ["09:30", "19:00"], "fri": ["09:30", "19:00"], "sat": ["10:00", "17:00"], "sun": null}'),
  (5, 'north', 'Northgate Branch', 'Brainse an Gheata Thuaidh', '5 Northgate', 53.36108, -6.01502, '1986-06-02', true,
    '{en,pl,uk}', '{"mon": ["10:00", "18:00"], "tue": ["10:00", "18:00"], "wed": ["10:00", "18:00"], "thu": null, "fri": ["10:00", "18:00"], "sat": ["10:00", "14:00"], "sun": null}'),
  (6, 'riverside', 'Riverside Branch', 'Brainse Bhruach na hAbhann', '210 Mill Lane', 53.33577, -6.02236, '1999-04-23', true,
    '{en,de,it,el}', '{"mon": ["10:00", "18:00"], "tue": null, "wed": ["10:00", "20:00"], "thu": ["10:00", "18:00"], "fri": ["10:00", "18:00"], "sat": ["10:00", "16:00"], "sun": null}'),
  (7, 'campus', 'Campus Reading Room', 'Seomra Léitheoireachta an Champais', '3 College Walk', 53.34956, -5.99320, '2011-10-01', true,
    '{en,fr,de,es,ja,ko}', '{"mon": ["08:30", "22:00"], "tue": ["08:30", "22:00"], "wed": ["08:30", "22:00"], "thu": ["08:30", "22:00"], "fri": ["08:30", "20:00"], "sat": ["10:00", "18:00"], "sun": null}'),
  (8, 'bookmobile', 'Bookmobile 🚌', 'An Leabharlann Taistil 🚌', null, null, null, '2019-08-26', false,
    '{en,ga}', '{"mon": null, "tue": ["11:00", "16:00"], "wed": ["11:00", "16:00"], "thu": ["11:00", "16:00"], "fri": ["11:00", "16:00"], "sat": ["10:00", "13:00"], "sun": null}');

insert into library.authors (id, name, name_latin, language, birth_year, death_year)
select row_number() over (), coalesce(native, latin), latin, language, born, died
from (values
  ('Jane Austen', null, 'en', 1775, 1817), ('Mary Shelley', null, 'en', 1797, 1851),
  ('Lewis Carroll', null, 'en', 1832, 1898), ('George Eliot', null, 'en', 1819, 1880),
  ('Charles Darwin', null, 'en', 1809, 1882), ('James Joyce', null, 'en', 1882, 1941),
  ('Virginia Woolf', null, 'en', 1882, 1941), ('George Orwell', null, 'en', 1903, 1950),
  ('Chinua Achebe', null, 'en', 1930, 2013), ('Ursula K. Le Guin', null, 'en', 1929, 2018),
  ('Toni Morrison', null, 'en', 1931, 2019), ('Stephen Hawking', null, 'en', 1942, 2018),
  ('Terry Pratchett', null, 'en', 1948, 2015), ('Neil Gaiman', null, 'en', 1960, null),
  ('Máirtín Ó Cadhain', null, 'ga', 1906, 1970), ('Victor Hugo', null, 'fr', 1802, 1885),
  ('Antoine de Saint-Exupéry', null, 'fr', 1900, 1944), ('Albert Camus', null, 'fr', 1913, 1960),
  ('Mariama Bâ', null, 'fr', 1929, 1981), ('Franz Kafka', null, 'de', 1883, 1924),
  ('Johann Wolfgang von Goethe', null, 'de', 1749, 1832), ('Thomas Mann', null, 'de', 1875, 1955),
  ('Michael Ende', null, 'de', 1929, 1995), ('Karl Marx', null, 'de', 1818, 1883),
  ('Friedrich Engels', null, 'de', 1820, 1895), ('Miguel de Cervantes', null, 'es', 1547, 1616),
  ('Gabriel García Márquez', null, 'es', 1927, 2014), ('Jorge Luis Borges', null, 'es', 1899, 1986),
  ('Isabel Allende', null, 'es', 1942, null), ('José Maria de Eça de Queirós', null, 'pt', 1845, 1900),
  ('José Saramago', null, 'pt', 1922, 2010), ('Machado de Assis', null, 'pt', 1839, 1908),
  ('Fernando Pessoa', null, 'pt', 1888, 1935), ('Dante Alighieri', null, 'it', 1265, 1321),
  ('Umberto Eco', null, 'it', 1932, 2016), ('Italo Calvino', null, 'it', 1923, 1985),
  ('Bolesław Prus', null, 'pl', 1847, 1912), ('Stanisław Lem', null, 'pl', 1921, 2006),
  ('Karel Čapek', null, 'cs', 1890, 1938), ('Astrid Lindgren', null, 'sv', 1907, 2002),
  ('Henrik Ibsen', null, 'no', 1828, 1906), ('Hans Christian Andersen', null, 'da', 1805, 1875),
  ('Halldór Laxness', null, 'is', 1902, 1998), ('Sabahattin Ali', null, 'tr', 1907, 1948),
  ('Ferenc Molnár', 'Molnár Ferenc', 'hu', 1878, 1952), ('Nguyễn Du', null, 'vi', 1765, 1820),
  ('Homer', 'Ὅμηρος', 'el', null, null), ('Nikos Kazantzakis', 'Νίκος Καζαντζάκης', 'el', 1883, 1957),
  ('Alexander Pushkin', 'Александр Пушкин', 'ru', 1799, 1837), ('Fyodor Dostoevsky', 'Фёдор Достоевский', 'ru', 1821, 1881),
  ('Leo Tolstoy', 'Лев Толстой', 'ru', 1828, 1910), ('Mikhail Bulgakov', 'Михаил Булгаков', 'ru', 1891, 1940),
  ('Arkady Strugatsky', 'Аркадий Стругацкий', 'ru', 1925, 1991), ('Boris Strugatsky', 'Борис Стругацкий', 'ru', 1933, 2012),
  ('Taras Shevchenko', 'Тарас Шевченко', 'uk', 1814, 1861), ('Lesya Ukrainka', 'Леся Українка', 'uk', 1871, 1913),
  ('Ivan Vazov', 'Иван Вазов', 'bg', 1850, 1921), ('Naguib Mahfouz', 'نجيب محفوظ', 'ar', 1911, 2006),
  ('Tayeb Salih', 'الطيب صالح', 'ar', 1929, 2009), ('Ferdowsi', 'فردوسی', 'fa', 940, 1020),
  ('Sadegh Hedayat', 'صادق هدایت', 'fa', 1903, 1951), ('Amos Oz', 'עמוס עוז', 'he', 1939, 2018),
  ('Premchand', 'प्रेमचंद', 'hi', 1880, 1936), ('Rabindranath Tagore', 'রবীন্দ্রনাথ ঠাকুর', 'bn', 1861, 1941),
  ('Cao Xueqin', '曹雪芹', 'zh', 1715, 1763), ('Wu Cheng''en', '吳承恩', 'zh', null, 1582),
  ('Liu Cixin', '刘慈欣', 'zh', 1963, null), ('Yu Hua', '余华', 'zh', 1960, null),
  ('Murasaki Shikibu', '紫式部', 'ja', null, null), ('Natsume Sōseki', '夏目漱石', 'ja', 1867, 1916),
  ('Kawabata Yasunari', '川端康成', 'ja', 1899, 1972), ('Murakami Haruki', '村上春樹', 'ja', 1949, null),
  ('Han Kang', '한강', 'ko', 1970, null)
) as real_author (latin, native, language, born, died);

-- title, English title, language, year, subjects, pages, authors (Latin)
create temporary table real_book on commit drop as
select row_number() over ()::integer as id, b.*
from (values
  ('Pride and Prejudice', null, 'en', 1813, '{fiction,classics}', 367, '{Jane Austen}'),
  ('Frankenstein; or, The Modern Prometheus', null, 'en', 1818, '{fantasy,classics}', 280, '{Mary Shelley}'),
  ('Alice’s Adventures in Wonderland', null, 'en', 1865, '{children,fantasy,classics}', 176, '{Lewis Carroll}'),
  ('Middlemarch', null, 'en', 1871, '{fiction,classics}', 880, '{George Eliot}'),
  ('On the Origin of Species', null, 'en', 1859, '{science,classics}', 502, '{Charles Darwin}'),
  ('Ulysses', null, 'en', 1922, '{fiction,classics}', 730, '{James Joyce}'),
  ('To the Lighthouse', null, 'en', 1927, '{fiction,classics}', 209, '{Virginia Woolf}'),
  ('Nineteen Eighty-Four', null, 'en', 1949, '{fiction,classics}', 328, '{George Orwell}'),
  ('Things Fall Apart', null, 'en', 1958, '{fiction,classics}', 209, '{Chinua Achebe}'),
  ('The Left Hand of Darkness', null, 'en', 1969, '{fantasy,fiction}', 304, '{Ursula K. Le Guin}'),
  ('Beloved', null, 'en', 1987, '{fiction,history}', 324, '{Toni Morrison}'),
  ('A Brief History of Time', null, 'en', 1988, '{science}', 256, '{Stephen Hawking}'),
  ('Good Omens', null, 'en', 1990, '{fantasy,fiction}', 288, '{Terry Pratchett,Neil Gaiman}'),
  ('Cré na Cille', 'The Dirty Dust', 'ga', 1949, '{fiction,classics}', 364, '{Máirtín Ó Cadhain}'),
  ('Les Misérables', 'The Wretched', 'fr', 1862, '{fiction,classics}', 1463, '{Victor Hugo}'),
  ('Le Petit Prince', 'The Little Prince', 'fr', 1943, '{children,fantasy}', 96, '{Antoine de Saint-Exupéry}'),
  ('L’Étranger', 'The Stranger', 'fr', 1942, '{fiction,classics}', 159, '{Albert Camus}'),
  ('Une si longue lettre', 'So Long a Letter', 'fr', 1979, '{fiction}', 131, '{Mariama Bâ}'),
  ('Die Verwandlung', 'The Metamorphosis', 'de', 1915, '{fiction,classics}', 102, '{Franz Kafka}'),
  ('Faust: Eine Tragödie', 'Faust: A Tragedy', 'de', 1808, '{drama,classics}', 309, '{Johann Wolfgang von Goethe}'),
  ('Der Zauberberg', 'The Magic Mountain', 'de', 1924, '{fiction,classics}', 1008, '{Thomas Mann}'),
  ('Die unendliche Geschichte', 'The Neverending Story', 'de', 1979, '{children,fantasy}', 448, '{Michael Ende}'),
  ('Manifest der Kommunistischen Partei', 'The Communist Manifesto', 'de', 1848, '{history,classics}', 80, '{Karl Marx,Friedrich Engels}'),
  ('El ingenioso hidalgo don Quijote de la Mancha', 'Don Quixote', 'es', 1605, '{fiction,classics}', 1345, '{Miguel de Cervantes}'),
  ('Cien años de soledad', 'One Hundred Years of Solitude', 'es', 1967, '{fiction,classics}', 471, '{Gabriel García Márquez}'),
  ('Ficciones', 'Fictions', 'es', 1944, '{fiction,fantasy}', 203, '{Jorge Luis Borges}'),
  ('La casa de los espíritus', 'The House of the Spirits', 'es', 1982, '{fiction}', 454, '{Isabel Allende}'),
  ('Os Maias', 'The Maias', 'pt', 1888, '{fiction,classics}', 720, '{José Maria de Eça de Queirós}'),
  ('Memórias Póstumas de Brás Cubas', 'The Posthumous Memoirs of Brás Cubas', 'pt', 1881, '{fiction,classics}', 256, '{Machado de Assis}'),
  ('Livro do Desassossego', 'The Book of Disquiet', 'pt', 1982, '{memoir,poetry}', 534, '{Fernando Pessoa}'),
  ('Ensaio sobre a Cegueira', 'Blindness', 'pt', 1995, '{fiction}', 310, '{José Saramago}'),
  ('La Divina Commedia', 'The Divine Comedy', 'it', 1321, '{poetry,classics}', 798, '{Dante Alighieri}'),
  ('Il nome della rosa', 'The Name of the Rose', 'it', 1980, '{crime,history}', 503, '{Umberto Eco}'),
  ('Le città invisibili', 'Invisible Cities', 'it', 1972, '{fiction,fantasy}', 170, '{Italo Calvino}'),
  ('Lalka', 'The Doll', 'pl', 1890, '{fiction,classics}', 683, '{Bolesław Prus}'),
  ('Solaris', 'Solaris', 'pl', 1961, '{fantasy,science}', 224, '{Stanisław Lem}'),
  ('R.U.R.', 'R.U.R. (Rossum’s Universal Robots)', 'cs', 1920, '{drama,fantasy}', 104, '{Karel Čapek}'),
  ('Pippi Långstrump', 'Pippi Longstocking', 'sv', 1945, '{children}', 160, '{Astrid Lindgren}'),
  ('Et dukkehjem', 'A Doll’s House', 'no', 1879, '{drama,classics}', 122, '{Henrik Ibsen}'),
  ('Eventyr, fortalte for Børn', 'Fairy Tales Told for Children', 'da', 1835, '{children,classics}', 320, '{Hans Christian Andersen}'),
  ('Sjálfstætt fólk', 'Independent People', 'is', 1934, '{fiction,classics}', 512, '{Halldór Laxness}'),
  ('Kürk Mantolu Madonna', 'Madonna in a Fur Coat', 'tr', 1943, '{fiction,classics}', 160, '{Sabahattin Ali}'),
  ('A Pál utcai fiúk', 'The Paul Street Boys', 'hu', 1907, '{children,classics}', 220, '{Ferenc Molnár}'),
  ('Truyện Kiều', 'The Tale of Kieu', 'vi', 1820, '{poetry,classics}', 264, '{Nguyễn Du}'),
  ('Ὀδύσσεια', 'The Odyssey', 'el', null, '{poetry,classics}', 541, '{Homer}'),
  ('Βίος και πολιτεία του Αλέξη Ζορμπά', 'Zorba the Greek', 'el', 1946, '{fiction,classics}', 346, '{Nikos Kazantzakis}'),
  ('Евгений Онегин', 'Eugene Onegin', 'ru', 1833, '{poetry,classics}', 224, '{Alexander Pushkin}'),
  ('Преступление и наказание', 'Crime and Punishment', 'ru', 1866, '{crime,classics}', 672, '{Fyodor Dostoevsky}'),
  ('Анна Каренина', 'Anna Karenina', 'ru', 1878, '{fiction,classics}', 864, '{Leo Tolstoy}'),
  ('Мастер и Маргарита', 'The Master and Margarita', 'ru', 1967, '{fantasy,classics}', 480, '{Mikhail Bulgakov}'),
  ('Пикник на обочине', 'Roadside Picnic', 'ru', 1972, '{fantasy}', 224, '{Arkady Strugatsky,Boris Strugatsky}'),
  ('Кобзар', 'The Bard', 'uk', 1840, '{poetry,classics}', 416, '{Taras Shevchenko}'),
  ('Лісова пісня', 'The Forest Song', 'uk', 1912, '{drama,poetry}', 144, '{Lesya Ukrainka}'),
  ('Под игото', 'Under the Yoke', 'bg', 1894, '{history,classics}', 480, '{Ivan Vazov}'),
  ('ألف ليلة وليلة', 'One Thousand and One Nights', 'ar', null, '{fantasy,classics}', 1049, '{}'),
  ('بين القصرين', 'Palace Walk', 'ar', 1956, '{fiction,classics}', 498, '{Naguib Mahfouz}'),
  ('موسم الهجرة إلى الشمال', 'Season of Migration to the North', 'ar', 1966, '{fiction}', 169, '{Tayeb Salih}'),
  ('شاهنامه', 'The Book of Kings', 'fa', 1010, '{poetry,history,classics}', 960, '{Ferdowsi}'),
  ('بوف کور', 'The Blind Owl', 'fa', 1936, '{fiction}', 144, '{Sadegh Hedayat}'),
  ('סיפור על אהבה וחושך', 'A Tale of Love and Darkness', 'he', 2002, '{memoir}', 593, '{Amos Oz}'),
  ('गोदान', 'The Gift of a Cow', 'hi', 1936, '{fiction,classics}', 366, '{Premchand}'),
  ('গীতাঞ্জলি', 'Gitanjali: Song Offerings', 'bn', 1910, '{poetry,classics}', 128, '{Rabindranath Tagore}'),
  ('紅樓夢', 'Dream of the Red Chamber', 'zh', 1791, '{fiction,classics}', 1606, '{Cao Xueqin}'),
  ('西遊記', 'Journey to the West', 'zh', 1592, '{fantasy,classics}', 1200, '{Wu Cheng''en}'),
  ('活着', 'To Live', 'zh', 1993, '{fiction}', 191, '{Yu Hua}'),
  ('三体', 'The Three-Body Problem', 'zh', 2008, '{fantasy,science}', 302, '{Liu Cixin}'),
  ('源氏物語', 'The Tale of Genji', 'ja', 1021, '{fiction,classics}', 1216, '{Murasaki Shikibu}'),
  ('吾輩は猫である', 'I Am a Cat', 'ja', 1905, '{fiction,classics}', 470, '{Natsume Sōseki}'),
  ('雪国', 'Snow Country', 'ja', 1948, '{fiction,classics}', 175, '{Kawabata Yasunari}'),
  ('ノルウェイの森', 'Norwegian Wood', 'ja', 1987, '{fiction}', 400, '{Murakami Haruki}'),
  ('채식주의자', 'The Vegetarian', 'ko', 2007, '{fiction}', 247, '{Han Kang}')
) as b (title, title_english, language, published_year, subjects, pages, authors);

-- 2. Word lists ---------------------------------------------------------------------------------------

-- Names of invented authors and members; `authors` is how many authors each line gives.
create temporary table name_list on commit drop as
select n.language, n.authors, n.members, n.family_first, n.gap,
       pg_temp.words(n.firsts) as firsts, pg_temp.words(coalesce(n.firsts_latin, n.firsts)) as firsts_latin,
       pg_temp.words(n.lasts) as lasts, pg_temp.words(coalesce(n.lasts_latin, n.lasts)) as lasts_latin
from (values
  ('en', 110, 34, false, ' ', 'Alice, Beth, Clara, Dorothy, Esther, Grace, Hazel, Ivy, Joan, Martha, Nora, Rose', null,
    'Ashworth, Barlow, Calloway, Dunmore, Eastwick, Fairley, Garrick, Holloway, Kettering, Lockhart, Marsden, Okafor, Pemberton, Sandhu', null),
  ('en', 110, 32, false, ' ', 'Albert, Ben, Colin, Daniel, Edwin, Frank, Gareth, Hugh, Ian, Jack, Oliver, Simon', null,
    'Ashworth, Barlow, Calloway, Dunmore, Eastwick, Fairley, Garrick, Holloway, Kettering, Lockhart, Marsden, Okafor, Pemberton, Sandhu', null),
  ('ga', 12, 8, false, ' ', 'Aoife, Bríd, Caoimhe, Gráinne, Niamh, Órlaith, Róisín, Síle', null,
    'Ní Bhriain, Nic Cárthaigh, Ní Dhónaill, Ní Fhlatharta, Ní Mháille, Nic Suibhne', null),
  ('ga', 12, 8, false, ' ', 'Ciarán, Diarmuid, Éamonn, Fionn, Pádraig, Séamus, Tadhg, Seán', null,
    'Ó Briain, Mac Cárthaigh, Ó Dónaill, Ó Flatharta, Ó Máille, Mac Suibhne', null),
  ('fr', 26, 3, false, ' ', 'Aurélie, Benoît, Chloé, Étienne, Françoise, Gaël, Hélène, Loïc', null,
    'Beaulieu, Chevallier, Delacourt, Fontenay, Guérin, Lefèvre, Marchand, Rousselet', null),
  ('de', 26, 3, false, ' ', 'Anneliese, Björn, Friederike, Günther, Jürgen, Käthe, Lukas, Änne', null,
    'Böhmer, Gärtner, Hölzl, Krämer, Lindqvist, Mühlbauer, Strauß, Weiß', null),
  ('es', 25, 4, false, ' ', 'Álvaro, Begoña, Íñigo, Lucía, Martín, Nuria, Óscar, Inés', null,
    'Benítez, Domínguez, Ibáñez, Muñoz, Núñez, Peña, Quiñones, Zúñiga', null),
  ('pt', 22, 5, false, ' ', 'António, Conceição, Graça, Inês, João, Luísa, Simão, Vitória', null,
    'Assunção, Brandão, Falcão, Guimarães, Lourenço, Magalhães, Simões, Valadão', null),
  ('it', 20, 2, false, ' ', 'Aldo, Beatrice, Cosimo, Giosuè, Lucrezia, Niccolò, Ornella, Tommaso', null,
    'Bellandi, Carboni, Fabbri, Galvani, Marchetti, Nardò, Salvemini, Zanetti', null),
  ('pl', 28, 9, false, ' ', 'Agnieszka, Bożena, Grażyna, Łucja, Małgorzata, Stanisław, Wojciech, Zdzisław', null,
    'Dąbek, Król, Kołodziej, Mróz, Pająk, Wójcik, Woźniak, Zając', null),
  ('tr', 16, 2, false, ' ', 'Ayşe, Çağla, Gülşen, İpek, Oğuz, Şükrü, Tuğba, Yiğit', null,
    'Akbaş, Çelik, Doğan, Güneş, Öztürk, Şahin, Yıldız', null),
  ('el', 16, 2, false, ' ', 'Αθηνά, Δέσποινα, Ελένη, Καλλιόπη, Μυρτώ, Φωτεινή', 'Athiná, Déspina, Eléni, Kalliópi, Myrtó, Foteiní',
    'Αγγελοπούλου, Γεωργίου, Καραγιάννη, Μαυρίδη, Παπαδάκη, Χατζή', 'Angelopoúlou, Georgíou, Karagiánni, Mavrídi, Papadáki, Chatzí'),
  ('ru', 22, 2, false, ' ', 'Алексей, Вера, Дарья, Зоя, Михаил, Пётр, Юлия, Ярослав', 'Aleksei, Vera, Darya, Zoya, Mikhail, Pyotr, Yulia, Yaroslav',
    'Бондарь, Гончар, Долгих, Кравец, Мельник, Седых, Соловей, Черных', 'Bondar, Gonchar, Dolgikh, Kravets, Melnik, Sedykh, Solovei, Chernykh'),
  ('uk', 20, 6, false, ' ', 'Андрій, Євгенія, Олена, Оксана, Роман, Тетяна, Юрій, Ярина', 'Andrii, Yevheniia, Olena, Oksana, Roman, Tetiana, Yurii, Yaryna',
    'Бойко, Гнатюк, Іваненко, Коваль, Кравченко, Лисенко, Ткачук, Швець', 'Boiko, Hnatiuk, Ivanenko, Koval, Kravchenko, Lysenko, Tkachuk, Shvets'),
  ('ar', 22, 3, false, ' ', 'أحمد, آمنة, خالد, زينب, سلمى, عمر, ليلى, يوسف', 'Ahmad, Amina, Khalid, Zaynab, Salma, Umar, Layla, Yusuf',
    'الحداد, الخطيب, الصباغ, النجار, العطار, المصري, بن سعيد, منصور', 'al-Haddad, al-Khatib, as-Sabbagh, an-Najjar, al-Attar, al-Masri, Ben Said, Mansour'),
  ('hi', 20, 4, false, ' ', 'अनुराधा, अर्जुन, ईशा, कमल, दीपक, मीरा, राधिका, सुरेश', 'Anuradha, Arjun, Isha, Kamal, Dipak, Mira, Radhika, Suresh',
    'अग्रवाल, गुप्ता, चौहान, त्रिपाठी, मिश्रा, वर्मा, शर्मा, श्रीवास्तव', 'Agarwal, Gupta, Chauhan, Tripathi, Mishra, Varma, Sharma, Shrivastava'),
  ('zh', 24, 4, true, '', '安然, 春晓, 海涛, 慧敏, 嘉怡, 梦云, 思远, 文博', 'Anran, Chunxiao, Haitao, Huimin, Jiayi, Mengyun, Siyuan, Wenbo',
    '陈, 黄, 李, 林, 刘, 王, 杨, 张', 'Chen, Huang, Li, Lin, Liu, Wang, Yang, Zhang'),
  ('ja', 20, 1, true, ' ', '葵, 健太, さくら, 翔太, 大輔, 花, 美咲, 陽子', 'Aoi, Kenta, Sakura, Shōta, Daisuke, Hana, Misaki, Yōko',
    '伊藤, 加藤, 小林, 斎藤, 佐藤, 高橋, 中村, 山本', 'Itō, Katō, Kobayashi, Saitō, Satō, Takahashi, Nakamura, Yamamoto'),
  ('ko', 16, 1, true, '', '민지, 서연, 수빈, 은우, 지훈, 하늘, 현우', 'Minji, Seoyeon, Subin, Eunu, Jihun, Haneul, Hyeonu',
    '김, 박, 이, 정, 최, 윤, 임', 'Kim, Park, Lee, Jeong, Choi, Yun, Lim')
) as n (language, authors, members, family_first, gap, firsts, firsts_latin, lasts, lasts_latin);

-- What an invented book is about: English wording, subject. The motifs of title_list have this order.
create temporary table motif on commit drop as
select row_number() over () as n, m.* from (values
  ('A Winter %', 'fiction'), ('Rain %', 'poetry'), ('The Bookshop %', 'fiction'), ('Murder %', 'crime'),
  ('Three Sisters %', 'fiction'), ('Silence %', 'poetry'), ('A Childhood %', 'memoir'), ('The Old House %', 'fiction'),
  ('The Last Tram %', 'history'), ('Summer %', 'fiction'), ('A Kitchen %', 'cooking'), ('Birds %', 'science'), ('Walks %', 'travel')
) as m (english, subject);

create temporary table title_list on commit drop as
select t.language, t.titles, pg_temp.words(t.motifs) as motifs, pg_temp.words(t.places) as places,
       pg_temp.words(t.places_english) as places_english
from (values
  ('ga', 95, 'Geimhreadh %, Báisteach %, Siopa leabhar %, Dúnmharú %, Triúr deirfiúracha %, Ciúnas %, Óige %, Seanteach %, An tram deireanach %, Samhradh %, Cistin %, Éin %, Siúlóidí %',
    'i gCorcaigh, i nGaillimh, i Luimneach, i nDoire, i mBéal Feirste, i Sligeach, i dTrá Lí, i gConamara, ar Inis Meáin, i nDún na nGall',
    'in Cork, in Galway, in Limerick, in Derry, in Belfast, in Sligo, in Tralee, in Connemara, on Inishmaan, in Donegal'),
  ('fr', 125, 'Un hiver %, Pluie %, La librairie %, Meurtre %, Trois sœurs %, Silence %, Une enfance %, La vieille maison %, Le dernier tramway %, L’été %, Une cuisine %, Oiseaux %, Promenades %',
    'à Lyon, à Marseille, à Dakar, à Montréal, en Bretagne, à Bruxelles, à Abidjan, à Nantes, au Havre, à Alger, en Provence, à Genève',
    'in Lyon, in Marseille, in Dakar, in Montreal, in Brittany, in Brussels, in Abidjan, in Nantes, in Le Havre, in Algiers, in Provence, in Geneva'),
  ('de', 125, 'Ein Winter %, Regen %, Die Buchhandlung %, Mord %, Drei Schwestern %, Stille %, Eine Kindheit %, Das alte Haus %, Die letzte Straßenbahn %, Sommer %, Eine Küche %, Vögel %, Spaziergänge %',
    'in Wien, in Hamburg, in Zürich, in Leipzig, am Bodensee, auf Rügen, in Graz, in Lübeck, im Schwarzwald, in Görlitz, an der Ostsee, in Köln',
    'in Vienna, in Hamburg, in Zurich, in Leipzig, on Lake Constance, on Rügen, in Graz, in Lübeck, in the Black Forest, in Görlitz, on the Baltic, in Cologne'),
  ('es', 120, 'Un invierno %, Lluvia %, La librería %, Asesinato %, Tres hermanas %, Silencio %, Una infancia %, La vieja casa %, El último tranvía %, Verano %, Una cocina %, Aves %, Paseos %',
    'en Sevilla, en Buenos Aires, en La Habana, en Oaxaca, en Valparaíso, en Bogotá, en Cádiz, en Montevideo, en Lima, en Granada, en Quito, en Mérida',
    'in Seville, in Buenos Aires, in Havana, in Oaxaca, in Valparaíso, in Bogotá, in Cádiz, in Montevideo, in Lima, in Granada, in Quito, in Mérida'),
  ('pt', 110, 'Um inverno %, Chuva %, A livraria %, Crime %, Três irmãs %, Silêncio %, Uma infância %, A casa velha %, O último elétrico %, Verão %, Uma cozinha %, Aves %, Passeios %',
    'em Lisboa, no Porto, em Coimbra, em Luanda, em Salvador, no Recife, em Maputo, nos Açores, em Évora, no Mindelo',
    'in Lisbon, in Porto, in Coimbra, in Luanda, in Salvador, in Recife, in Maputo, on the Azores, in Évora, in Mindelo'),
  ('it', 95, 'Un inverno %, Pioggia %, La libreria %, Delitto %, Tre sorelle %, Silenzio %, Un’infanzia %, La vecchia casa %, L’ultimo tram %, Estate %, Una cucina %, Uccelli %, Passeggiate %',
    'a Trieste, a Napoli, a Palermo, a Bologna, in Sardegna, a Torino, a Genova, a Lecce, a Matera, in Umbria',
    'in Trieste, in Naples, in Palermo, in Bologna, in Sardinia, in Turin, in Genoa, in Lecce, in Matera, in Umbria'),
  ('pl', 130, 'Zima %, Deszcz %, Księgarnia %, Morderstwo %, Trzy siostry %, Cisza %, Dzieciństwo %, Stary dom %, Ostatni tramwaj %, Lato %, Kuchnia %, Ptaki %, Spacery %',
    'w Krakowie, w Gdańsku, we Wrocławiu, w Łodzi, w Zakopanem, w Lublinie, w Toruniu, na Helu, w Poznaniu, w Szczecinie, na Mazurach, w Białymstoku',
    'in Kraków, in Gdańsk, in Wrocław, in Łódź, in Zakopane, in Lublin, in Toruń, on the Hel Peninsula, in Poznań, in Szczecin, in Masuria, in Białystok'),
  ('tr', 75, '% Bir Kış, % Yağmur, % Bir Kitapçı, % Cinayet, % Üç Kız Kardeş, % Sessizlik, % Bir Çocukluk, % Eski Ev, % Son Tramvay, % Yaz, % Bir Mutfak, % Kuşlar, % Gezintiler',
    'İstanbul’da, İzmir’de, Ankara’da, Bursa’da, Trabzon’da, Mardin’de, Kars’ta, Antalya’da',
    'in Istanbul, in Izmir, in Ankara, in Bursa, in Trabzon, in Mardin, in Kars, in Antalya'),
  ('el', 75, 'Ένας χειμώνας %, Βροχή %, Το βιβλιοπωλείο %, Φόνος %, Τρεις αδελφές %, Σιωπή %, Παιδικά χρόνια %, Το παλιό σπίτι %, Το τελευταίο τραμ %, Καλοκαίρι %, Μια κουζίνα %, Πουλιά %, Περίπατοι %',
    'στην Αθήνα, στη Θεσσαλονίκη, στην Κρήτη, στα Χανιά, στη Λέσβο, στον Βόλο, στα Γιάννενα, στη Λευκωσία',
    'in Athens, in Thessaloniki, on Crete, in Chania, on Lesbos, in Volos, in Ioannina, in Nicosia'),
  ('ru', 105, 'Зима %, Дождь %, Книжная лавка %, Убийство %, Три сестры %, Тишина %, Детство %, Старый дом %, Последний трамвай %, Лето %, Кухня %, Птицы %, Прогулки %',
    'в Петербурге, в Москве, во Пскове, в Иркутске, на Байкале, в Казани, в Суздале, на Камчатке, в Вологде, в Томске',
    'in Petersburg, in Moscow, in Pskov, in Irkutsk, on Lake Baikal, in Kazan, in Suzdal, in Kamchatka, in Vologda, in Tomsk'),
  ('uk', 100, 'Зима %, Дощ %, Книгарня %, Убивство %, Три сестри %, Тиша %, Дитинство %, Старий дім %, Останній трамвай %, Літо %, Кухня %, Птахи %, Прогулянки %',
    'в Одесі, у Львові, у Києві, у Харкові, в Карпатах, у Чернівцях, у Полтаві, на Поділлі, в Ужгороді, у Чернігові',
    'in Odesa, in Lviv, in Kyiv, in Kharkiv, in the Carpathians, in Chernivtsi, in Poltava, in Podillia, in Uzhhorod, in Chernihiv'),
  ('ar', 100, 'شتاء %, مطر %, مكتبة %, جريمة %, ثلاث شقيقات %, صمت %, طفولة %, البيت القديم %, الترام الأخير %, صيف %, مطبخ %, طيور %, نزهات %',
    'في القاهرة, في بيروت, في دمشق, في طنجة, في بغداد, في حلب, في الإسكندرية, في مراكش, في تونس, في صنعاء',
    'in Cairo, in Beirut, in Damascus, in Tangier, in Baghdad, in Aleppo, in Alexandria, in Marrakesh, in Tunis, in Sanaa'),
  ('hi', 90, '% एक सर्दी, % बारिश, % किताबों की दुकान, % हत्या, % तीन बहनें, % सन्नाटा, % बचपन, % पुराना घर, % आख़िरी ट्राम, % गर्मियाँ, % एक रसोई, % पक्षी, % सैर',
    'बनारस में, दिल्ली में, लखनऊ में, शिमला में, जयपुर में, कोलकाता में, पटना में, मुंबई में, ऋषिकेश में',
    'in Varanasi, in Delhi, in Lucknow, in Shimla, in Jaipur, in Kolkata, in Patna, in Mumbai, in Rishikesh'),
  ('zh', 110, '%的冬天, %的雨, %的书店, %谋杀案, %三姐妹, %的寂静, %的童年, %的老房子, %的末班电车, %的夏天, %的厨房, %的鸟, %漫步',
    '北京, 上海, 成都, 西湖, 敦煌, 苏州, 哈尔滨, 厦门, 昆明, 重庆',
    'in Beijing, in Shanghai, in Chengdu, on West Lake, in Dunhuang, in Suzhou, in Harbin, in Xiamen, in Kunming, in Chongqing'),
  ('ja', 95, '%の冬, %の雨, %の本屋, %殺人事件, %の三姉妹, %の静けさ, %の子ども時代, %の古い家, %の終電, %の夏, %の台所, %の鳥, %の散歩道',
    '京都, 函館, 長崎, 金沢, 神戸, 沖縄, 小樽, 鎌倉, 松山, 仙台',
    'in Kyoto, in Hakodate, in Nagasaki, in Kanazawa, in Kobe, in Okinawa, in Otaru, in Kamakura, in Matsuyama, in Sendai'),
  ('ko', 75, '%의 겨울, %의 비, %의 책방, % 살인 사건, %의 세 자매, %의 침묵, %의 어린 시절, %의 오래된 집, %의 막차, %의 여름, %의 부엌, %의 새, %의 산책길',
    '서울, 부산, 제주, 전주, 경주, 강릉, 춘천, 통영',
    'in Seoul, in Busan, on Jeju, in Jeonju, in Gyeongju, in Gangneung, in Chuncheon, in Tongyeong')
) as t (language, titles, motifs, places, places_english);

-- English titles are built from the same kind of parts, but from more of them.
create temporary table english_list on commit drop as
select e.kind, pg_temp.words(e.frames) as frames, pg_temp.words(e.fillings) as fillings
from (values
  ('fiction', 'The Lighthouse at %, Return to %, A Winter in %, The Clockmaker of %, The Ferry from %, Letters to %, The Widow of %, Salt and Snow in %, The Road to %, Every Window in %',
    'Ballinskelligs, Cape Clear, Dunquin, Easky, Finisterre, Gdynia, Howth, Inverness, Jaffa, Kinsale, Leith, Mombasa, Narvik, Ostend, Porthaven, Quebec, Rosslare, Skibbereen, Tórshavn, Ullapool, Valletta, Whitby, Youghal, Zanzibar'),
  ('crime', 'Murder in %, The % Inheritance, A Body at %, Death Comes to %, The % Ledger, The Night Watch at %, Cold Case in %',
    'Ballinskelligs, Cape Clear, Dunquin, Easky, Howth, Inverness, Kinsale, Leith, Ostend, Porthaven, Rosslare, Skibbereen, Ullapool, Valletta, Whitby, Youghal'),
  ('fantasy', 'The Dragon of %, The % Prophecy, Daughters of %, The Last Map of %, A Crown for %, The Witch-Queen of %',
    'Aldermere, Brynhollow, Caer Ithil, Duskwater, Emberfall, Farrowdeep, Glassmoor, Hollin Vale, Ironwick, Kestrelmark'),
  ('history', 'A Short History of %, The Story of %, % and Its People, The Rise and Fall of %, A People’s Atlas of %',
    'the Hanseatic League, the Irish Sea, Cartography, the Silk Road, Tea, the Printing Press, the Telegraph, Salt, the Mughal Court, the Bicycle, Vaccination, the Lending Library'),
  ('science', 'Understanding %, % Explained, A Field Guide to %, The Secret Life of %, Conversations about %',
    'Black Holes, Mosses, the Gut, Prime Numbers, Seabirds, Tides, Machine Learning, Volcanoes, Bees, the Deep Sea, Probability, Lichens, Moths'),
  ('cooking', '% for Everyone, The Little Book of %, A Year of %, % from Scratch',
    'Soda Bread, Dumplings, Seaweed, Fermentation, Soup, Pierogi, Dal, Noodles, Preserves, Chowder, Flatbreads'),
  ('travel', 'Walking %, Slow Travels through %, By Bicycle through %, Notes from %',
    'the Wild Atlantic Way, Patagonia, the Faroe Islands, Anatolia, Hokkaidō, the Camino, Galicia, Kerala, the Balkans, Connemara, Lapland'),
  ('memoir', 'Growing Up in %, My Years in %, Leaving %, A Nurse in %',
    'Belfast, Lagos, Lahore, Kraków, Soweto, Glasgow, Odesa, Cork, Hong Kong, Kingston, Reykjavík, Aleppo'),
  ('poetry', 'Poems for %, Songs of %, The Weather of %, Small Hours and %',
    'the Drowned, October, a Stranger, the Estuary, Insomniacs, the North Wind, Ordinary Days, Departures, Leap Years, Foxes'),
  ('children', '% and the Lost Umbrella, % Goes to School, % Counts to Ten, Goodnight %, % and the Moon, % Learns to Swim, The Birthday of %, % at the Library, Where Is %?, % and the Very Loud Snore',
    'Otto the Octopus 🐙, Finn the Fox 🦊, Hana the Hedgehog 🦔, Bo the Bear 🐻, Tilly the Turtle 🐢, Paco the Parrot 🦜, Una the Unicorn 🦄, Wally the Whale 🐳, Mei the Panda 🐼, Sam the Snail 🐌, Lola the Ladybird 🐞, Dot the Dinosaur 🦕, Pip the Penguin 🐧, Zara the Zebra 🦓')
) as e (kind, frames, fillings);

-- What members write. Moods: 3 liked it, 2 in two minds, 1 did not.
create temporary table opinion on commit drop as
select o.language, o.mood, string_to_array(o.sentences, ' | ') as sentences
from (values
  ('en', 3, 'I could not put it down. | Read it on the ferry and missed my stop. ⛴️ | Our reading circle talked about nothing else for a month. | Beautifully written, and funny in the right places. 😂 | The best thing I have borrowed this year. 📚 | My daughter made me read it to her three times. 🥰 | It made me want to learn the language of the original. | Cried on the bus, would recommend. 😭 | Three of us fought over the only copy. | I have already reserved everything else by this author. | The kind of book you press on strangers. | Stayed up far too late with it. 🌜 | Even better the second time. | My tea went cold twice. 🍵 | Thank you to the librarian at the desk who put it in my hand.'),
  ('en', 2, 'The first half drags, the second half is splendid. | Good ideas, but a hundred pages too long. | Fine for a rainy weekend. ☔ | I liked the people in it more than the plot. | The translation feels stiff in places. | Pleasant enough, already half forgotten. | Starts like a firework and ends like a damp one. 🎆'),
  ('en', 1, 'Gave up after two chapters. 😴 | Not for me, I am afraid. | The print is far too small. 🔍 | I expected much more after all the praise.'),
  ('ga', 3, 'Leabhar den scoth! | Léigh mé in aon oíche amháin é. 🌙'), ('ga', 2, 'Maith go leor, ach rófhada.'), ('ga', 1, 'Ní raibh sé ar fheabhas.'),
  ('fr', 3, 'Un vrai bonheur de lecture. | Je l’ai lu d’une traite, quelle émotion ! 😍 | À mettre entre toutes les mains.'), ('fr', 2, 'Intéressant, mais un peu long.'), ('fr', 1, 'Déçue, je n’ai pas réussi à le finir.'),
  ('de', 3, 'Ein großartiges Buch, sehr zu empfehlen! | Wunderschön erzählt, ich war zu Tränen gerührt. | In zwei Tagen verschlungen. 📖'), ('de', 2, 'Ganz nett, aber etwas zäh.'), ('de', 1, 'Leider überhaupt nicht mein Geschmack.'),
  ('es', 3, '¡Una maravilla de principio a fin! | Lo leí en una noche, no podía parar. ❤️ | Muy recomendable.'), ('es', 2, 'Está bien, aunque se hace largo.'), ('es', 1, 'No pude terminarlo. 😕'),
  ('pt', 3, 'Que livro maravilhoso! | Li-o no comboio e quase perdi a estação. 🚆 | Fez-me muitas saudades de casa.'), ('pt', 2, 'Bom, mas podia ser mais curto.'), ('pt', 1, 'Não gostei da tradução.'),
  ('it', 3, 'Bellissimo, l’ho divorato in un giorno. | Da leggere almeno una volta nella vita. ✨'), ('it', 2, 'Carino, ma niente di più.'), ('it', 1, 'Noioso, purtroppo.'),
  ('pl', 3, 'Świetna książka, polecam każdemu! | Nie mogłam się oderwać. ❤️ | Wzruszająca i mądra opowieść.'), ('pl', 2, 'Całkiem niezła, ale zbyt długa.'), ('pl', 1, 'Niestety, bardzo się zawiodłem.'),
  ('tr', 3, 'Çok güzel bir kitap, bir solukta okudum. | Herkese öneririm! 🌟'), ('tr', 2, 'Fena değil, ama biraz uzun.'), ('tr', 1, 'Beklediğim gibi çıkmadı.'),
  ('el', 3, 'Υπέροχο βιβλίο, το συνιστώ ανεπιφύλακτα! | Το διάβασα σε μια νύχτα. 🌙'), ('el', 2, 'Καλό, αλλά λίγο αργό.'), ('el', 1, 'Δεν μου άρεσε καθόλου.'),
  ('ru', 3, 'Замечательная книга, читается на одном дыхании! | Перечитываю каждый год. ❤️ | Очень тронуло до слёз.'), ('ru', 2, 'Неплохо, но затянуто.'), ('ru', 1, 'Не смог дочитать, скучно.'),
  ('uk', 3, 'Чудова книга, дуже раджу! 💙💛 | Прочитала за один вечір. | Пахне домом і дитинством.'), ('uk', 2, 'Непогано, але трохи задовго.'), ('uk', 1, 'На жаль, не моє.'),
  ('ar', 3, 'كتاب رائع أنصح به الجميع! | قرأته في ليلة واحدة. 🌙 | لغة جميلة وحكاية مؤثرة.'), ('ar', 2, 'جيد لكنه طويل قليلاً.'), ('ar', 1, 'لم يعجبني للأسف.'),
  ('hi', 3, 'बहुत सुंदर किताब, ज़रूर पढ़ें! 🙏 | एक ही रात में पढ़ ली। | दिल को छू लेने वाली कहानी।'), ('hi', 2, 'अच्छी है, पर थोड़ी लंबी।'), ('hi', 1, 'मुझे पसंद नहीं आई।'),
  ('zh', 3, '非常好看,强烈推荐! 👍 | 一口气读完了。 | 文字很美,故事感人。'), ('zh', 2, '还不错,就是有点长。'), ('zh', 1, '看不下去。'),
  ('ja', 3, 'とても面白かったです! | 一晩で読み終えました。 🌸 | 何度も読み返したい一冊。'), ('ja', 2, '悪くないけれど、少し長い。'), ('ja', 1, '途中で諦めました。'),
  ('ko', 3, '정말 감동적인 책이에요! | 하룻밤에 다 읽었어요. 💜'), ('ko', 2, '괜찮지만 조금 길어요.'), ('ko', 1, '끝까지 읽지 못했어요.')
) as o (language, mood, sentences);

-- 3. Authors and catalogue ----------------------------------------------------------------------------

insert into library.authors (id, name, name_latin, language, birth_year, death_year)
select 100 + row_number() over (order by language, md5(latin)), native, latin, language, born,
       case when born < 1945 and pg_temp.roll('died' || latin, 10) < 6 then born + 58 + pg_temp.roll('age' || latin, 22) end
from (
  select language, authors, native, latin, 1922 + pg_temp.roll('born' || latin, 68) as born,
         row_number() over (partition by list order by md5(latin)) as place
  from (
    select n.ctid as list, n.language, n.authors,
           case when family_first then lasts[l] || gap || firsts[f] else firsts[f] || gap || lasts[l] end as native,
           case when family_first then lasts_latin[l] || ' ' || firsts_latin[f] else firsts_latin[f] || ' ' || lasts_latin[l] end as latin
    from name_list n, generate_subscripts(firsts, 1) f, generate_subscripts(lasts, 1) l
  ) every_name
) ranked
where place <= authors;

create temporary table new_book (id, language, title, title_english, subject, author_id) on commit drop as
with invented as (
  select replace(motifs[m.n], '%', places[p]) as title, replace(m.english, '%', places_english[p]) as title_english,
         language, m.subject,
         row_number() over (partition by language order by md5(motifs[m.n] || places[p])) <= titles as wanted
  from title_list, motif m, generate_subscripts(places, 1) p
  union all
  -- The emoji of a children's title goes to its end.
  select regexp_replace(upper(left(filled, 1)) || substr(filled, 2), '^(.*) ([^ -~]+)(.+)$', '\1\3 \2'), null, 'en', kind, true
  from english_list, unnest(frames) frame, unnest(fillings) filling, replace(frame, '%', filling) filled
)
select b.id, b.language, b.title, b.title_english, b.subject, a.id
from (
  select (select count(*) from real_book) + row_number() over (order by md5(title || language)) as id, title, title_english,
         language, subject
  from invented where wanted
) b
join (
  select language, array_agg(id order by id) as ids from library.authors where id > 100 group by language
) writers using (language)
join library.authors a on a.id = writers.ids[1 + pg_temp.roll('author' || b.id, cardinality(writers.ids))];

insert into library.books (id, isbn, title, title_english, language, published_year, subjects, attributes, replacement_cost, added_on)
select id, null, title, title_english, language, published_year, subjects::text[],
       jsonb_build_object('pages', pages, 'binding', case when pages > 600 then 'hardcover' else 'paperback' end,
                          'audience', case when subjects like '%children%' then 'children' else 'adult' end)
         || case when id % 9 = 4 then '{"large_print": true}'::jsonb else '{}' end,
       round(9.95 + pages * 0.021, 1) + 0.05, date '2012-01-09' + pg_temp.roll('added' || id, 3800)
from real_book
union all
select b.id, null, title, title_english, b.language,
       least(extract(year from added_on)::integer, greatest(a.birth_year + 22, case
         when pg_temp.roll('new' || b.id, 10) < 5 then extract(year from added_on)::integer - pg_temp.roll('year' || b.id, 3)
         else 1955 + pg_temp.roll('year' || b.id, 62) end)),
       case when pg_temp.roll('second' || b.id, 3) = 0 and subject <> 'children'
         then array[subject, case subject when 'fiction' then 'historical' when 'crime' then 'fiction' when 'science' then 'nature'
                when 'travel' then 'memoir' else 'local interest' end]
         else array[subject] end,
       jsonb_build_object('pages', pages, 'binding', pg_temp.pick(case when subject = 'cooking' then '{paperback,hardcover,spiral}'::text[] else '{paperback,paperback,hardcover}' end, 'binding' || b.id),
                          'audience', case when subject = 'children' then 'children' when pg_temp.roll('young' || b.id, 9) = 0 then 'young adult' else 'adult' end)
         || case when pg_temp.roll('large' || b.id, 16) = 0 then '{"large_print": true}'::jsonb else '{}' end
         || case when subject in ('crime', 'fantasy') and pg_temp.roll('series' || b.id, 2) = 0
              then jsonb_build_object('series', jsonb_build_object(
                'name', pg_temp.pick('{Harbour Police,Inspector Ní Mháille,Tales of the Estuary,The Salt Road,Night Ferry}', 'series name' || b.id),
                'volume', 1 + pg_temp.roll('volume' || b.id, 9)))
              else '{}' end,
       round(7.90 + pages * 0.024, 1) + 0.09, added_on
from (
  select *,
         case subject when 'children' then 24 + 8 * pg_temp.roll('pages' || id, 6) when 'poetry' then 60 + pg_temp.roll('pages' || id, 90)
           else 140 + pg_temp.roll('pages' || id, 190) + pg_temp.roll('more pages' || id, 170) end as pages,
         case when pg_temp.roll('old' || id, 100) < 58 then date '2014-01-06' + pg_temp.roll('added' || id, 3280)
           else date '2023-01-02' + pg_temp.roll('added' || id, 1395) end as added_on
  from new_book
) b
join library.authors a on a.id = b.author_id;

update library.books set isbn = body || ((10 - (
    select sum(substr(body, i, 1)::integer * case when i % 2 = 1 then 1 else 3 end) from generate_series(1, 12) i
  ) % 10) % 10)
from (select id as isbn_of, '9799' || lpad((id * 7919 % 100000000)::text, 8, '0') as body from library.books) numbered
where isbn_of = id and pg_temp.roll('no isbn' || id, 14) > 0;

insert into library.book_authors (book_id, author_id, position)
select b.id, a.id, n
from real_book b, unnest(b.authors::text[]) with ordinality as named (latin, n)
join library.authors a on a.name_latin = named.latin
union all
select id, author_id, 1 from new_book;

-- One in sixteen is written by two.
insert into library.book_authors (book_id, author_id, position)
select first.book_id, second.id, 2
from library.book_authors first
join library.authors one on one.id = first.author_id
cross join lateral (
  select id from library.authors
  where id > 100 and language = one.language and id <> one.id
  order by md5(id || '+' || first.book_id) limit 1
) second
where first.author_id > 100 and pg_temp.roll('second author' || first.book_id, 16) = 0;

-- 4. Copies and members -------------------------------------------------------------------------------

insert into library.copies (id, book_id, branch_id, barcode, shelf_mark, acquired_on, note)
select n, book_id, ('{1,1,1,1,1,1,1,2,2,2,3,3,4,4,4,5,5,6,6,7,7,8}'::integer[])[1 + pg_temp.roll('branch' || n, 22)],
       'PH' || lpad(((n::bigint * 48271) % 100000000)::text, 8, '0'), shelf_mark,
       least(added_on + pg_temp.roll('arrived' || n, case when pg_temp.roll('later' || n, 7) = 0 then 420 else 21 end), date '2026-10-24'),
       case pg_temp.roll('note' || n, 60)
         when 0 then 'Coffee stain on the title page ☕' when 1 then 'Signed by the author'
         when 2 then 'Donated by the Friends of Porthaven Library' when 3 then 'Spine repaired' end
from (
  select row_number() over (order by b.id, i)::integer as n, b.id as book_id, b.added_on,
         upper(left(b.subjects[1], 3) || ' ' || left(regexp_replace(
           library.fold(coalesce(a.name_latin, b.title_english)),
           case when a.language in ('ja', 'ko', 'vi', 'zh') then ' .*$' else '^.*[ -]' end, ''), 3)) as shelf_mark
  from library.books b
  left join library.book_authors ba on ba.book_id = b.id and ba.position = 1
  left join library.authors a on a.id = ba.author_id
  cross join lateral generate_series(1, case
    when b.id <= (select count(*) from real_book) then 6 + pg_temp.roll('copies' || b.id, 9)
    else 1 + pg_temp.roll('copies' || b.id, 4) * pg_temp.roll('more copies' || b.id, 4) / 3 + pg_temp.roll('few copies' || b.id, 3) end) i
) numbered;

-- Members are numbered in the order in which they joined: 1600 before 2023, 2500 since.
-- Each seventh is an avid reader of one field, see part 5; each 56th is a child who is.
insert into library.members (id, card, full_name, email, birth_date, category, home_branch_id, language, joined_on, active)
select n, md5('library card ' || n)::uuid, first_name || case when family_first then '' else ' ' end || last_name,
       case when pg_temp.roll('email' || n, 12) > 0 then 'reader' || n || '@mail.example' end,
       (joined_on - make_interval(years => age, days => pg_temp.roll('birthday' || n, 365)))::date, category,
       ('{1,1,1,1,1,1,1,2,2,2,3,3,4,4,4,5,5,6,6,7,7,8}'::integer[])[1 + pg_temp.roll('home' || n, 22)],
       language, joined_on, pg_temp.roll('active' || n, 25) > 0 or n % 7 = 0
from (
  select *, case category when 'child' then 4 + pg_temp.roll('age' || n, 6) when 'student' then 18 + pg_temp.roll('age' || n, 7)
              when 'senior' then 65 + pg_temp.roll('age' || n, 22) else 21 + pg_temp.roll('age' || n, 40) end as age
  from (
    select n, case when n <= 1600 then date '2015-01-05' + n * 2900 / 1600 else date '2023-01-01' + ((n - 1600) * 1400 / 2500 - 1) end as joined_on,
           case when n % 56 = 0 or pg_temp.roll('category' || n, 100) < 14 then 'child'
             when pg_temp.roll('category' || n, 100) < 72 then 'adult'
             when pg_temp.roll('category' || n, 100) < 86 then 'student' else 'senior' end as category,
           pg_temp.roll('name list' || n, (select sum(members) from name_list)) as list_place
    from generate_series(1, 4100) n
  ) person
) person
join (
  select *, sum(members) over (order by language, firsts) as list_end, sum(members) over (order by language, firsts) - members as list_start
  from name_list
) names on list_place >= list_start and list_place < list_end
cross join lateral (
  select case when family_first then pg_temp.pick(lasts, 'last' || n) || gap else pg_temp.pick(firsts_latin, 'first' || n) end as first_name,
         case when family_first then pg_temp.pick(firsts, 'first' || n) else pg_temp.pick(lasts_latin, 'last' || n) end as last_name
) called;

-- 5. Loans --------------------------------------------------------------------------------------------

-- A copy's time since 2023 is cut into equal slots, the more the more popular its book is, with at most one loan
-- in each, so loans of one copy never overlap. Fewer people come in summer, and nobody on Sundays and holidays.
insert into library.loans (id, copy_id, member_id, loaned_at, due_on, returned_at, renewals)
with slotted as materialized (
  select c.id as copy_id, c.id || '/' || slot as key, slot, greatest(c.acquired_on, date '2023-01-01') as first_day, length,
         field, ((slot - pg_temp.roll('phase' || c.id, 1000) / 1000.0) * length)::integer as slot_day
  from library.copies c
  join library.books b on b.id = c.book_id
  cross join lateral (
    select case when b.id <= (select count(*) from real_book) then 30 + pg_temp.roll('popular' || b.id, 24)
      else 46 + pg_temp.roll('popular' || b.id, 170) * (1 + pg_temp.roll('rare' || b.id, 3)) end as length
  ) popularity
  cross join lateral (select case b.subjects[1]
    when 'crime' then 1 when 'history' then 2 when 'travel' then 2 when 'poetry' then 3 when 'drama' then 3
    when 'science' then 4 when 'cooking' then 4 when 'children' then 8
    else case when b.language = 'en' then 5 when b.language in ('de', 'es', 'fr', 'ga', 'it', 'pt') then 6 else 7 end end as field) f
  cross join lateral generate_series(0, (date '2026-10-31' - greatest(c.acquired_on, date '2023-01-01')) / length + 1) slot
), dated as materialized (
  select *, first_day + slot_day + pg_temp.roll('start' || key, length / 3) as some_day, pg_temp.roll('habit' || key, 100) as habit
  from slotted
), kept as materialized (
  select *, row_number() over (order by day, md5(key))::integer as id,
         lead(slot) over (partition by copy_id order by slot) is null as newest,
         -- So many members had joined by that day.
         1600 + (day - date '2023-01-01') * 2500 / 1400 as members,
         least(case when habit < 70 then 2 + pg_temp.roll('days' || key, 19)
                 when habit < 88 then 22 + pg_temp.roll('days' || key, 20)
                 else 22 + pg_temp.roll('days' || key, 50) end,
               length * 3 / 5) as days
  from (select *, some_day + case when extract(dow from some_day) = 0 then 1 else 0 end as day from dated) opened
  where day between first_day and date '2026-10-31'
    and to_char(day, 'MM-DD') not in ('01-01', '03-17', '12-25', '12-26')
    and pg_temp.roll('season' || key, 100)
      < ('{100,96,97,90,86,80,76,70,88,97,100,84}'::integer[])[extract(month from day)::integer]
), drawn as materialized (
  select *, day + days as back_day, habit between 70 and 87 and days > 21 as renewed,
         1 + pg_temp.roll('member' || id, members) as member, pg_temp.roll('avid' || id, 100) as avid
  from kept
)
select id, copy_id,
       case when avid < 40 then greatest(member / 56 * 56 - 56, 0) + 7 * field
         when avid < 50 then greatest(member / 7 * 7, 7)
         else member end,
       pg_temp.at_library(day, 570 + pg_temp.roll('opened' || id, 510)),
       day + case when renewed then 42 else 21 end,
       case when back_day <= date '2026-10-31' and not (newest and pg_temp.roll('kept' || id, 40) = 0)
         then pg_temp.at_library(back_day, 540 + pg_temp.roll('closed' || id, 600)) end,
       case when renewed then 1 else 0 end
from drawn;

-- A copy that is out for half a year beyond its time counts as lost.
update library.copies c set status = case when l.due_on < date '2026-10-31' - 180 then 'lost' else 'on_loan' end::library.copy_status
from library.loans l where l.copy_id = c.id and l.returned_at is null;
update library.copies set status = case when pg_temp.roll('state' || id, 100) < 2 then 'in_repair' else 'withdrawn' end::library.copy_status
where status = 'available' and pg_temp.roll('state' || id, 100) < 5;

-- 6. Fines and reviews --------------------------------------------------------------------------------

-- Twenty cents for each day late, at most twelve euro; nothing for two days, and children do not pay.
insert into library.fines (id, loan_id, reason, amount, assessed_on, paid_on, waived)
select row_number() over (order by assessed_on, loan_id, reason), loan_id, reason, amount, assessed_on,
       case when not waived and pg_temp.roll('pays' || loan_id, 10) < 8 and assessed_on + delay <= date '2026-10-31' then assessed_on + delay end,
       waived
from (
  select *, pg_temp.roll('delay' || loan_id, 3) * pg_temp.roll('more delay' || loan_id, 45) as delay,
         reason = 'late' and (category = 'child' or pg_temp.roll('waived' || loan_id, 18) = 0) as waived
  from (
    select l.id as loan_id, 'late' as reason, least(0.20 * (returned_on - due_on), 12.00) as amount, returned_on as assessed_on, m.category
    from library.loans l join library.members m on m.id = l.member_id
    where returned_on > due_on + 2
    union all
    select l.id, 'damaged', round(b.replacement_cost * (1 + pg_temp.roll('damage' || l.id, 4)) / 8, 2), returned_on, m.category
    from library.loans l join library.members m on m.id = l.member_id
    join library.copies c on c.id = l.copy_id join library.books b on b.id = c.book_id
    where returned_on is not null and pg_temp.roll('damaged' || l.id, 160) = 0
    union all
    select l.id, 'lost', b.replacement_cost, due_on + 180, m.category
    from library.loans l join library.members m on m.id = l.member_id
    join library.copies c on c.id = l.copy_id join library.books b on b.id = c.book_id
    where returned_on is null and c.status = 'lost'
  ) owed
) judged;

insert into library.reviews (id, book_id, member_id, stars, language, body, written_at, published)
select row_number() over (order by written_at, book_id, member_id), book_id, member_id, stars,
       case when body is not null then case when junk then 'en' else opinion_language end end,
       case when junk and body is not null then 'BEST SNEAKERS 👟👟 free shipping today only, click my profile!!!' else body end,
       written_at, not junk and pg_temp.roll('published' || loan_id, 25) > 0
from (
  select r.*, pg_temp.roll('junk' || loan_id, 90) = 0 as junk, o.language as opinion_language,
         case when pg_temp.roll('wordless' || loan_id, 10) >= 3 then pg_temp.pick(o.sentences, 'says' || loan_id)
           || case when second <> pg_temp.pick(o.sentences, 'says' || loan_id) and pg_temp.roll('says more' || loan_id, 3) = 0
                then ' ' || second else '' end end as body
  from (
    select distinct on (c.book_id, l.member_id) l.id as loan_id, c.book_id, l.member_id, b.language as book_language, m.language as member_language,
           greatest(1, least(5, 3 + pg_temp.roll('quality' || c.book_id, 3) - pg_temp.roll('taste' || l.id, 3)
             + pg_temp.roll('mood' || l.id, 3) + case when c.book_id <= (select count(*) from real_book) then 1 else 0 end)) as stars,
           l.returned_at + make_interval(mins => 60 + pg_temp.roll('wrote' || l.id, 20000)) as written_at
    from library.loans l
    join library.members m on m.id = l.member_id
    join library.copies c on c.id = l.copy_id
    join library.books b on b.id = c.book_id
    where l.returned_at < timestamptz '2026-10-14 00:00+00' and pg_temp.roll('reviews' || l.id, 100) < 10
    order by c.book_id, l.member_id, l.id
  ) r
  join opinion o on o.mood = case when stars >= 4 then 3 when stars = 3 then 2 else 1 end
    and o.language = case when pg_temp.roll('tongue' || loan_id, 10) < 6 and exists (select from title_list t where t.language = book_language)
      then book_language when pg_temp.roll('tongue' || loan_id, 10) = 9 then member_language else 'en' end
  cross join lateral (select pg_temp.pick(o.sentences, 'adds' || loan_id) as second) s
) written;

drop function pg_temp.at_library(date, integer), pg_temp.pick(text[], text), pg_temp.words(text), pg_temp.roll(text, bigint);

commit;

analyze library.branches, library.authors, library.books, library.book_authors, library.copies, library.members,
  library.loans, library.fines, library.reviews;
