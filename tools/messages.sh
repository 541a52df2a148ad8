#!/bin/sh
# Writes the encoding of the messages between node monitors and guards,
# nodemonitor/backend/guard/protocol_msgp.go, from the types in protocol.go beside it; with "check"
# reports whether it is up to date.
set -eu

cd "$(dirname "$0")/.."
dir=nodemonitor/backend/guard
GO=${GO:-go}

# generate FILE: writes the encoding to FILE.
generate() {
	"$GO" tool -modfile=tools/go.mod msgp -file "$dir/protocol.go" -unexported -io=false -tests=false -o "$1"
}

case ${1:-write} in
write) generate "$dir/protocol_msgp.go" ;;
check)
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT INT TERM
	generate "$fresh/protocol_msgp.go"
	if ! diff "$dir/protocol_msgp.go" "$fresh/protocol_msgp.go" >&2; then
		echo "tools/messages.sh: $dir/protocol_msgp.go differs from what protocol.go gives; run tools/messages.sh and commit the result" >&2
		exit 1
	fi
	;;
*)
	echo "usage: tools/messages.sh [check]" >&2
	exit 2
	;;
esac
