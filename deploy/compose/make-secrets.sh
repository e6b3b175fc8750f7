#!/bin/sh
# Makes what compose.yaml needs into secrets/: keys, passwords, and a certificate of the gateways. Needs dist/ and openssl.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
  echo "deploy/compose/secrets is there already; remove it for new ones" >&2
  exit 2
fi
# Whole or not at all.
new=$(mktemp -d ./secrets.XXXXXX)
trap 'rm -rf "$new"' EXIT

field() { node -p "const value = JSON.parse(fs.readFileSync(0)); $1"; }
password() { openssl rand -hex 24; }

agent=$(node ../../dist/svc-gateway create-agent-secret --json)
key=$(node ../../dist/svc-gateway create-key --name demo --capabilities '*' --json)
reader=$(password)
valkey=$(password)

printf '%s\n' "GATEWAY_AGENT_PUBLIC_KEY=$(echo "$agent" | field value.agent_public_key)" >"$new/gateway.env"
printf '%s\n' "SVC_AGENT_PRIVATE_KEY=$(echo "$agent" | field value.agent_private_key)" "SVC_DB_PASSWORD=$reader" >"$new/agent.env"
echo "$key" | field value.api_key >"$new/api-key"
echo "$key" | field 'JSON.stringify([value.record])' >"$new/api-keys.json"
printf %s "$reader" >"$new/reader-password"
printf %s "$valkey" >"$new/valkey-password"
printf 'requirepass %s\nsave ""\n' "$valkey" >"$new/valkey.conf"
password >"$new/database-password"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=gateway \
  -addext subjectAltName=DNS:gateway -keyout "$new/tls.key" -out "$new/tls.crt" 2>/dev/null

# The containers run as other users: they may read each file, and the folder keeps others out.
chmod 644 "$new"/*
chmod 700 "$new"
mv "$new" secrets
trap - EXIT
echo "deploy/compose/secrets has all that compose.yaml needs; the API key for callers is in api-key"
