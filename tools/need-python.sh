#!/bin/sh
# Checks for what python/ needs: Python 3.10 or newer, with venv.
set -eu

python=${PYTHON:-python3}
refuse() {
	echo "$1; install it (apt-get install python3-venv) or name another with PYTHON. Only the client for Python needs it" >&2
	exit 2
}

command -v "$python" >/dev/null 2>&1 || refuse "there is no '$python'"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || refuse "'$python' is older than 3.10"
"$python" -c 'import ensurepip, venv' 2>/dev/null || refuse "'$python' cannot make a virtual environment: its module venv or ensurepip is missing"
