/** Words of names of columns, by which these look like something that should not leave. Lower case, without accents. */

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));
const phrases = (text: string): readonly string[] =>
  text
    .trim()
    .split(/\s*,\s*/)
    .map((phrase) => ` ${phrase} `);

export const CREDENTIAL_WORDS: ReadonlySet<string> = words(`
  password passwords passwd pwd pw pass passphrase passcode passwort kennwort contrasena senha mdp clave secret secrets
  credential credentials token tokens apikey apikeys privatekey secretkey accesskey otp totp hotp mfa salt jwt bearer
  pswd psw pword passwrd userpwd dbpass csrf xsrf psk passkey passkeys mnemonic keytab authorization hmac saml
  cookie cookies cvv cvc csc pin pincode dsn keystore htpasswd wachtwoord haslo parola
`);
export const CREDENTIAL_PHRASES: readonly string[] = phrases(`
  api key, api keys, private key, secret key, access key, encryption key, decryption key, signing key, session key,
  session id, session hash, ssh key, gpg key, pgp key, auth key, master key, shared key, activation key, activation code,
  license key, recovery code, recovery codes, recovery key, backup code, backup codes, verification code,
  confirmation code, security code, reset code, login code, access code, auth code, authorization code, one time code,
  security answer, secret answer, security question, secret question, magic link, reset link, seed phrase,
  recovery phrase, connection string, connection uri, connection url, database url, mot de passe, code secret,
  two factor key, auth hash, login hash, stripe key, aws key, certificate key, private pem, client key, auth header,
  session data, unlock code, wallet seed, mfa seed, private exponent, snmp community, gpg private, pgp private,
  service account, mot passe
`);
/** What holds credentials gives these plain names a meaning. */
export const CREDENTIAL_TABLES: ReadonlySet<string> = words(
  'key keys apikey apikeys secret secrets credential credentials token tokens password passwords',
);
export const CREDENTIAL_PLAIN: ReadonlySet<string> = words('hash digest value payload data');
/** Numbers that are credentials: counts and limits of other kinds are numbers, too. */
export const NUMERIC_CREDENTIALS: ReadonlySet<string> = words(
  'pin pincode otp cvv cvc csc passcode password',
);

/** A name that ends so says something about the thing, and is not the thing. */
export const ABOUT_ENDINGS: ReadonlySet<string> = words(`
  at on count counts type types status state verified enabled disabled confirmed attempts length expires expiry
  expiration ttl lifetime changed updated created until policy algorithm algo format required valid template total
  sum avg min max range rate symbol subject pattern server color colour file version limit usage used provider rules strength age_days flag optin model
`);
/** A name that begins so, too. */
export const ABOUT_BEGINNINGS: ReadonlySet<string> = words(
  'is has have can may must should allow allows needs num max min total count requires use uses',
);
/** Of credentials only: a name of a key is none. */
export const CREDENTIAL_ABOUT: ReadonlySet<string> = words('name label description prefix scope scopes');

export const PERSONAL_WORDS: ReadonlySet<string> = words(`
  firstname lastname surname fullname middlename givenname familyname maidenname nickname username screenname
  forename vorname nachname prenom cognome apellido apellidos sobrenome voornaam achternaam geburtsname
  email emails mail mails correo courriel phone phones telephone tel telefon telefono telefone mobile cellphone
  handy fax phonenumber mobilenumber msisdn whatsapp skype telegram twitter facebook instagram linkedin tiktok
  address addresses addr adresse direccion indirizzo endereco anschrift strasse street postal postcode postalcode zip
  zipcode plz cep birth birthdate birthday birthplace dob dateofbirth born geburtsdatum geburtstag nacimiento naissance
  nascita nascimento ssn sin nino passport cpf cnh dni nif nie curp aadhaar aadhar rfc bsn pesel iban bic swift
  salary wage wages income gehalt lohn salaire salario gender sex geschlecht race ethnicity religion nationality
  citizenship marital orientation ip ipaddress useragent imei imsi idfa gaid biometric biometrics
  fingerprint faceprint diagnosis diagnoses allergy allergies medication medications disability illness pregnancy
  pregnant hiv avatar signature recipient initials spouse fname lname mname eml mrn dna selfie headshot caste hometown
  gps geolocation coordinates ipv mac udid idfv paypal venmo nric handynummer hausnr hausnummer rue
  ausweisnummer sozialversicherungsnummer steuernummer passportno ccnum prescription prescriptions symptom symptoms
  guardian compensation
`);
export const PERSONAL_PHRASES: readonly string[] = phrases(`
  first name, last name, given name, family name, full name, middle name, middle initial, maiden name, display name,
  contact name, user name, legal name, real name, pet name, screen name, card number, card no, card holder, cardholder,
  card pan, card last, card expiry, credit card, debit card, cc number, cc no, cc last, cc num, account number,
  account no, bank account, routing number, sort code, tax id, tax number, tax no, vat id, tin, social security,
  national id, national insurance, national number, identity number, identity card, id card, id number, citizen id,
  personal number, personal id, person id number, driver license, drivers license, driver licence, drivers licence,
  driving licence, driving license, license plate, licence plate, number plate, vehicle plate, pan number, pan no,
  insurance number, insurance no, insurance id, policy holder, next of kin, emergency contact, blood type, blood group,
  medical history, medical record, medical notes, health status, criminal record, user agent, remote addr,
  remote address, client ip, mac address, mac addr, device id, advertising id, ad id, date of birth, place of birth,
  home location, house number, house no, hausnummer, geo location, last location, zip code, post code, sexual orientation,
  marital status, civil status, family status, political party, trade union, union member, political opinion, mother name, father name, google id, facebook id, slack id, github handle, android id, ph no, voice print,
  face embedding, political affiliation, union membership, immigration status, veteran status, sexual preference,
  visa number, visa no, credit score, routing no, employee number, employee no, staff number, staff no, badge number,
  badge no, student number, profile pic, profile photo, profile picture, profile image, net worth, pay rate,
  ni number, numero secu, securite sociale, codice fiscale, steuer id, login name, maiden nm, family doctor,
  bank acct, acct no, acct number, lab result, lab results
`);
/** Before `name` each makes it the name of a person; before a place, that of where one lives. */
export const PERSON_WORDS: ReadonlySet<string> = words(`
  person people customer client patient employee staff user member contact student pupil teacher applicant candidate
  subscriber donor guest visitor passenger driver doctor physician nurse citizen resident tenant owner lead recipient
  participant attendee voter beneficiary borrower worker reader reviewer reporter author buyer seller sender signer
  player witness victim suspect prisoner child parent mother father spouse partner sibling guardian
  profile kunde kunden mitarbeiter benutzer cliente usuario persona empleado utilisateur personne pessoa employe
  emp cust usr agent manager supervisor advisor consultant lawyer attorney holder payer payee caller
`);
/** Rows of a tree have them as well as persons do. */
export const RELATIVES: ReadonlySet<string> = words('parent child');
/** What has a name of its own, whoever it belongs to. */
export const THINGS: ReadonlySet<string> = words(
  'company organization organisation firm department role group category type status method carrier product project plan',
);
/** Plain words that are personal in a table of persons. */
export const OF_PERSONS: ReadonlySet<string> = words(`
  name names nom nombre nome naam city town district neighborhood state county region suburb location lat lng lon
  latitude longitude cell age weight height bmi picture photo image portrait bio biography about notes note remarks comment
  comments login handle cv resume education occupation profession hobby hobbies interests bonus rating_notes
  title_of_courtesy courtesy photopath ort stadt ville ciudad cidade website homepage blog
`);
/** Plain words that are personal in a table of addresses. */
export const ADDRESS_TABLES: ReadonlySet<string> = words(
  'address addresses contact contacts delivery deliveries anschrift adresse direccion',
);
export const OF_ADDRESSES: ReadonlySet<string> = words(
  'district town city suburb neighborhood county lat lng lon latitude longitude location name line',
);
/** Before one of `OF_ADDRESSES` or a name: where something is sent to. */
export const SENT_TO: ReadonlySet<string> = words(
  'ship shipping shipto bill billing billto deliver delivery home invoice mailing',
);
export const SENT_PLACES: ReadonlySet<string> = words(
  'name city town region state district county country line',
);
/** Parts of names that were written together. */
export const ENDINGS: readonly string[] = [
  ...words(`
  password passwd email emailaddress address phonenumber homephone mobilephone workphone firstname lastname surname
  username birthdate dateofbirth
`),
];
/** Of numbers only these are personal: most numbers that belong to a person tell of nobody. */
export const NUMERIC_PERSONAL: ReadonlySet<string> = words(`
  phone mobile tel telephone fax cell ssn salary wage wages income gehalt lohn salario salaire birth born dob zip
  zipcode postcode plz postal lat lng lon latitude longitude age weight height bmi bonus msisdn imei aadhaar cpf
  phonenumber passport iban card compensation
`);
/** A yes or no is personal where it tells of somebody's health. */
export const HEALTH_FLAGS: ReadonlySet<string> = words(
  'pregnant pregnancy hiv disability disabled smoker diabetic',
);
export const BIRTH_WORDS: ReadonlySet<string> = words(
  'birth birthdate birthday dob dateofbirth born geburtsdatum geburtstag nacimiento naissance nascita nascimento death',
);
