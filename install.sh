#!/bin/sh
# Installs ppaurora into ./venv, with the packages that it was tested with and no others:
#
#   sh install.sh node     a node
#   sh install.sh owner    an owner, or the coordinator
#   sh install.sh app      either of them, with the pages in a browser (ppaurora app) and reports as pages
#   sh install.sh ray      a node whose workers run on a Ray cluster, and the machines of that cluster
#
# The lock files name versions and the SHA-256 of every file; pip refuses any other.
set -eu
cd "$(dirname "$0")"
case "${1:-}" in
  node | owner | app | ray) ;;
  *) echo "usage: sh install.sh node, or: sh install.sh owner, or: sh install.sh app, or: sh install.sh ray" >&2; exit 2 ;;
esac
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ppaurora needs Python 3.11 or newer; name one: PYTHON=python3.12 sh install.sh ...")'
"$python" -m venv venv
venv/bin/pip install --require-hashes -r "requirements-$1.lock"
venv/bin/pip install --no-deps --no-build-isolation .
venv/bin/ppaurora --version
