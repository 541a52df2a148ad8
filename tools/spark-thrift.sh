#!/bin/sh
# Generates sparkplugin/gen, the Java of thrift/application.thrift and
# thrift/identity.thrift, or with "check" checks that it is up to date. Needs the Thrift
# compiler 0.17.0, whose code works with the newer libthrift that the plugin ships;
# building the plugin needs no compiler, because the result is committed.
set -eu

want=0.17.0
root=$(cd "$(dirname "$0")/.." && pwd)

have=$(thrift --version 2>/dev/null | awk '{print $3}') || have=
if [ "$have" != "$want" ]; then
	echo "tools/spark-thrift.sh: needs the Thrift compiler $want, found '${have:-none}'; install thrift-compiler $want" >&2
	exit 2
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT INT TERM
mkdir "$fresh/all" "$fresh/gen" "$fresh/idl"
for idl in published application identity; do
	# A field called final is no Java; its name is not on the wire.
	sed 's/ bool final$/ bool last/' "$root/thrift/$idl.thrift" >"$fresh/idl/$idl.thrift"
	thrift -strict -I "$fresh/idl" -out "$fresh/all" \
		-gen java:generated_annotations=suppress,private_members "$fresh/idl/$idl.thrift"
done

# Of the published services the plugin needs only the exception.
keep=org/pigeonsched/thrift
mkdir -p "$fresh/gen/$keep"
cp -r "$fresh/all/$keep/application" "$fresh/all/$keep/identity" "$fresh/all/$keep/TPigeonException.java" "$fresh/gen/$keep"

# Since libthrift 0.21 the functions of a processor state the type of their result. The
# compiler that we have is older; what it leaves out is added here.
find "$fresh/gen" -name '*Service.java' | while read -r file; do
	sed -E \
		-e 's/([.]ProcessFunction<I, [?] extends +org[.]apache[.]thrift[.]TBase)>/\1, ? extends org.apache.thrift.TBase>/g' \
		-e 's/(AsyncProcessFunction<I, [?] extends +org[.]apache[.]thrift[.]TBase, *[?])>/\1, ? extends org.apache.thrift.TBase>/g' \
		-e 's/extends org[.]apache[.]thrift[.]ProcessFunction<I, ([A-Za-z]+)_args>/extends org.apache.thrift.ProcessFunction<I, \1_args, \1_result>/' \
		-e 's/extends org[.]apache[.]thrift[.]AsyncProcessFunction<I, ([A-Za-z]+)_args, (.*)> [{]/extends org.apache.thrift.AsyncProcessFunction<I, \1_args, \2, \1_result> {/' \
		-e 's/protected boolean isOneway/public boolean isOneway/' \
		-e 's/^( *)public ([A-Za-z]+)_args getEmptyArgsInstance.*/\1public \2_result getEmptyResultInstance() { return new \2_result(); }\n\n\1@Override\n&/' \
		"$file" >"$file.new"
	mv "$file.new" "$file"
done

case ${1:-write} in
write)
	rm -rf "$root/sparkplugin/gen"
	cp -r "$fresh/gen" "$root/sparkplugin/gen"
	;;
check)
	if ! diff -r "$root/sparkplugin/gen" "$fresh/gen" >&2; then
		echo "tools/spark-thrift.sh: sparkplugin/gen differs from what the IDL gives; run tools/spark-thrift.sh and commit the result" >&2
		exit 1
	fi
	;;
*)
	echo "usage: tools/spark-thrift.sh [write|check]" >&2
	exit 2
	;;
esac
