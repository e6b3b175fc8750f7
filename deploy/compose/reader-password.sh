#!/bin/sh
# Gives the agent's account the password of make-secrets.sh. Run by the image of PostgreSQL, once.
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v password="$(cat /run/secrets/reader-password)" <<'SQL'
alter role library_reader password :'password';
SQL
