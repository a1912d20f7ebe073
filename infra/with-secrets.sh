#!/bin/sh
# Secrets from files: NAME_FILE=/run/secrets/x becomes NAME, then the command takes over. A file does not show
# in `docker inspect`. Names that are set already stay; a file that cannot be read ends it here.
set -eu
for name in \
  PREFECT_API_AUTH_STRING PREFECT_SERVER_API_AUTH_STRING PREFECT_SERVER_DATABASE_PASSWORD \
  OPENAI_API_KEY ANTHROPIC_API_KEY; do
  eval "file=\${${name}_FILE:-} known=\${${name}:-}"
  unset "${name}_FILE"
  if [ -n "$file" ] && [ -z "$known" ]; then
    value=$(cat "$file")
    export "$name=$value"
  fi
done
exec "$@"
