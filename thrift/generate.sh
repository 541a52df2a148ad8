#!/bin/sh
# Makes thrift/gen from the IDL, thrift/wire/conversions.go from both sides' types and the
# Python of the client (python/generate.sh), or with "check" reports whether they are up to date.
# Needs the Thrift compiler 0.17.0 (Debian: thrift-compiler); building the
# program needs no compiler, because the result is committed.
set -eu

want=0.17.0
here=$(cd "$(dirname "$0")" && pwd)
prefix=github.com/pigeon-sched/pigeon/thrift/gen/

have=$(thrift --version 2>/dev/null | awk '{print $3}') || have=
if [ "$have" != "$want" ]; then
	echo "thrift/generate.sh: needs the Thrift compiler $want, found '${have:-none}'; install thrift-compiler $want" >&2
	exit 2
fi

# generate DIR: writes the generated packages below DIR.
generate() {
	for idl in published application internal identity; do
		thrift -strict -I "$here" -out "$1" -gen "go:package_prefix=$prefix,skip_remote" "$here/$idl.thrift"
	done
	gofmt -w "$1"
}

case ${1:-write} in
write)
	rm -rf "$here/gen"
	mkdir -p "$here/gen"
	generate "$here/gen"
	(cd "$here/.." && go run ./thrift/wiregen . thrift/wire/conversions.go)
	sh "$here/../python/generate.sh"
	;;
check)
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT INT TERM
	generate "$fresh"
	if ! diff -r "$here/gen" "$fresh" >&2; then
		echo "thrift/generate.sh: thrift/gen differs from what the IDL gives; run thrift/generate.sh and commit the result" >&2
		exit 1
	fi
	(cd "$here/.." && go run ./thrift/wiregen . "$fresh/conversions.go")
	if ! diff "$here/wire/conversions.go" "$fresh/conversions.go" >&2; then
		echo "thrift/generate.sh: thrift/wire/conversions.go differs from what the types give; run thrift/generate.sh and commit the result" >&2
		exit 1
	fi
	sh "$here/../python/generate.sh" check
	;;
*)
	echo "usage: thrift/generate.sh [write|check]" >&2
	exit 2
	;;
esac
