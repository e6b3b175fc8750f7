import type { ColumnKind } from '../databases/driver/catalog.ts';

/** `table.column` and, behind a colon, its kind where that is not text; labelled by a person, without the code at hand. */
const CREDENTIALS = `
  users.password users.password_hash users.passwd users.pwd users.pass account.PasswordHash account.pw_hash
  users.encrypted_password users.password_digest users.hashed_pw users.userpassword staff.passwort client.mot_de_passe
  usuario.contrasena usuario.senha users.salt users.password_salt api_client.client_secret api_keys.key api_client.apikey
  api_client.api_key oauth.access_token oauth.refresh_token sessions.token sessions.session_token sessions.session_id
  users.reset_password_token users.confirmation_token users.remember_token users.auth_token devices.push_token
  users.otp_secret users.totp users.mfa_secret users.two_factor_secret users.recovery_codes users.backup_code
  users.security_answer users.security_question users.pin card.pin_code card.cvv payment_cards.cvc webhook.signing_secret
  webhook.secret ssh_keys.private_key certs.privatekey vault.encryption_key aws.secret_access_key aws.access_key_id
  smtp.smtp_pass integration.credentials integration.bearer integration.jwt ftp.login_password
  settings.connection_string users.passphrase wallet.seed_phrase invites.invite_token users.email_verification_code
  users.magic_link cookie_jar.cookie users.activation_key:uuid
`;

const PERSONAL = `
  customer.first_name customer.last_name customer.email customer.name patient.full_name employee.FirstName
  employee.LastName employee.BirthDate:date employee.HomePhone employee.Address employee.PostalCode employee.City
  customers.ContactName customers.Phone customers.Fax orders.ShipName orders.ShipAddress orders.ShipPostalCode
  invoice.BillingAddress invoice.BillingPostalCode address.address address.address2 address.phone address.postal_code
  address.district staff.username staff.picture:opaque users.login users.nickname users.mobile users.cell_phone
  users.dob:date users.date_of_birth:date users.birthday:date users.birth_year:integer users.age:integer
  users.gender users.sex:enum patient.race patient.ethnicity member.religion person.nationality person.marital_status
  person.ssn person.social_security_number person.national_id person.passport_number person.passport_no
  person.driver_license person.drivers_licence_no vehicle.license_plate person.tax_id person.tin employee.salary:number
  employee.hourly_wage:number employee.bonus:number person.annual_income:number account.iban account.bic
  account.account_number payment.card_number payment.credit_card_number payment.cc_last4 payment.card_holder
  access_log.ip_address access_log.client_ip:address access_log.remote_addr access_log.user_agent
  events.visitor:address device.mac_address device.imei device.device_id device.advertising_id
  users.avatar_url users.photo users.signature users.fingerprint
  patient.diagnosis patient.blood_type patient.allergies patient.medication patient.medical_history
  patient.disability patient.insurance_number person.emergency_contact person.next_of_kin person.mothers_maiden_name
  person.spouse_name employee.surname employee.given_name employee.middle_initial person.initials
  contact.street contact.street_name contact.house_number contact.zip contact.zipcode contact.postcode contact.town
  contact.email_address contact.mail contact.e_mail contact.telephone contact.tel contact.whatsapp contact.twitter
  contact.skype contact.linkedin_url delivery.recipient delivery.recipient_name delivery.latitude:number
  user_locations.lat:number user_locations.lng:number user_locations.home_location person.vorname person.nachname
  person.geburtsdatum:date person.strasse person.plz kunde.telefon client.nom client.prenom client.adresse
  usuario.nombre usuario.apellido usuario.correo usuario.telefono usuario.direccion usuario.fecha_nacimiento:date
  cliente.cpf cliente.dni persona.cognome persona.indirizzo employee.hire_salary:number users.firstname users.lastname
  users.phonenumber subscribers.subscriber_email tickets.reporter_email orders.customer_name orders.billing_street
  orders.shipping_city comments.author_email author_profile.bio user_settings.display_name reviews.reviewer_name
  applicant.cv applicant.education applicant.criminal_record student.grade_notes employee.home_address
  guest.vehicle_plate donor.pan_number citizen.aadhaar employee.Photo:opaque employee.Notes employee.personal_email
  users.last_login_ip:address
`;

const NEITHER = `
  film.title film.description film.release_year:integer film.rental_rate:number film.length:integer film.rating:enum
  film.special_features:array film.fulltext:opaque film.last_update:datetime category.name language.name city.city
  country.country product.name product.ProductName product.description product.sku product.price:number
  product.color product.size product.weight:number product.image_url product.barcode product.ean category.CategoryName
  order.order_number orders.status orders.total:number orders.freight:number orders.shipped_at:datetime
  orders.customer_id:integer orders.address_id:integer orders.currency orders.ShipVia:integer
  users.id:integer users.created_at:datetime users.updated_at:datetime users.is_active:boolean users.role
  users.email_verified:boolean users.email_verified_at:datetime users.password_changed_at:datetime
  users.has_password:boolean users.login_count:integer users.phone_verified:boolean users.locale users.timezone
  users.failed_login_attempts:integer users.locked_until:datetime users.mfa_enabled:boolean users.newsletter:boolean
  track.Name track.Composer track.Milliseconds:integer track.Bytes:integer artist.Name album.Title genre.Name
  playlist.Name media_type.Name invoice.InvoiceDate:datetime invoice.Total:number region.RegionDescription
  supplier.CompanyName shipper.CompanyName territory.TerritoryDescription employee.Title employee.ReportsTo:integer
  llm_usage.token_count:integer llm_usage.prompt_tokens:integer llm_usage.max_tokens:integer oauth.token_type
  oauth.token_expires_at:datetime file.filename file.file_hash file.checksum file.mime_type file.size:integer
  git.commit_hash git.branch_name server.hostname server.port:integer server.version table_stats.table_name
  settings.key settings.value translations.key feature.name feature.enabled:boolean tag.slug tag.label
  event.name event.starts_at:datetime event.venue location.name warehouse.name store.store_name branch.branch_code
  sensor.reading:number sensor.temperature:number sensor.unit machine.serial_number job.name job.state
  job.attempts:integer job.error_message page.url page.path page.title article.body article.summary
  article.published_on:date article.language course.name course.credits:integer department.name department.dept_no
  ticket.priority ticket.subject currency.code currency.symbol exchange_rate.rate:number stock.quantity:integer
  stock.location_code shipment.tracking_number shipment.carrier plan.name plan.monthly_price:number
  invoice_line.UnitPrice:number audit.action audit.entity_type audit.entity_id:integer email_template.subject
  email_template.name phone_model.model address_type.name password_policy.min_length:integer
  password_policy.name api_endpoint.path payment.amount:number payment.method payment.payment_date:datetime
  rental.return_date:datetime inventory.store_id:integer airport.iata airport.latitude:number airport.longitude:number
  airport.city flight.flight_no flight.gate compass.bearing:number bus.passengers:integer
  sales.gross_margin:number budget.salary_total:number brand.name team.name league.name stadium.capacity:integer
  recipe.ingredients species.name disease.name medication.dosage_form drug.active_ingredient lab_test.unit
  survey.question poll.option key_value.namespace spatial_ref.srid:integer map_tile.zoom:integer
`;

const KINDS: readonly ColumnKind[] = [
  'integer',
  'number',
  'text',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'enum',
  'array',
  'address',
  'opaque',
];

export interface LabelledColumn {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly label: 'credential' | 'personal' | 'neither';
}

export const LABELLED_COLUMNS: readonly LabelledColumn[] = [
  ...listed(CREDENTIALS, 'credential'),
  ...listed(PERSONAL, 'personal'),
  ...listed(NEITHER, 'neither'),
];

function listed(text: string, label: LabelledColumn['label']): readonly LabelledColumn[] {
  return text
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [name = '', typed = 'text'] = entry.split(':');
      const kind = KINDS.find((each) => each === typed);
      if (kind === undefined) throw new Error(`no kind of column is called ${typed}`);
      const [table = '', column = ''] = name.split('.');
      return { table, column, kind, label };
    });
}
