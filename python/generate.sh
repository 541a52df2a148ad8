#!/bin/sh
# Generates python/src/pigeonsched/gen from thrift/published.thrift and identity.thrift, or
# with "check" checks that it is up to date. Needs the Thrift compiler 0.17.0; building the
# wheel needs no compiler, because the result is committed.
set -eu

want=0.17.0
root=$(cd "$(dirname "$0")/.." && pwd)
gen=$root/python/src/pigeonsched/gen

have=$(thrift --version 2>/dev/null | awk '{print $3}') || have=
if [ "$have" != "$want" ]; then
	echo "python/generate.sh: needs the Thrift compiler $want, found '${have:-none}'; install thrift-compiler $want" >&2
	exit 2
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT INT TERM
mkdir "$fresh/gen"
for idl in published identity; do
	thrift -strict -I "$root/thrift" -out "$fresh/gen" -gen py "$root/thrift/$idl.thrift"
done

# The compiler has no prefix for includes.
sed -i 's/^import published[.]ttypes$/import pigeonsched.gen.published.ttypes\nfrom pigeonsched.gen import published/' "$fresh"/gen/identity/*.py

# A client calls two of the services.
touch "$fresh/gen/__init__.py"
find "$fresh/gen" -name '*-remote' -delete
find "$fresh/gen" -name '*Service.py' ! -name SchedulerService.py ! -name IdentityService.py -delete
for package in published identity; do
	service=$(cd "$fresh/gen/$package" && echo ./*Service.py | sed 's|./\(.*\).py|\1|')
	echo "__all__ = ['ttypes', 'constants', '$service']" >"$fresh/gen/$package/__init__.py"
done

case ${1:-write} in
write)
	rm -rf "$gen"
	cp -r "$fresh/gen" "$gen"
	;;
check)
	if ! diff -r -x __pycache__ "$gen" "$fresh/gen" >&2; then
		echo "python/generate.sh: $gen differs from what the IDL gives; run python/generate.sh and commit the result" >&2
		exit 1
	fi
	;;
*)
	echo "usage: python/generate.sh [write|check]" >&2
	exit 2
	;;
esac
