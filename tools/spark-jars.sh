#!/bin/sh
# spark-jars.sh VERSION DIR: puts into DIR, without versions in their names, the jars of
# Spark VERSION that the plugin compiles against where Maven Central has no such Spark:
# those of $SPARK_HOME or of an installation in out/spark, if it is that version, else from
# PyPI's package of PySpark (460 MB are fetched, 80 MB kept in out/spark-jars).
set -eu

version=$1
dir=$2
root=$(cd "$(dirname "$0")/.." && pwd)
kept=$root/out/spark-jars/$version
names="spark-core spark-common-utils spark-common-utils-java spark-config spark-launcher spark-network-common hadoop-client-api metrics-core slf4j-api"

from=
for jars in "${SPARK_HOME:-/nowhere}/jars" "${PIGEON_SPARK_HOMES:-$root/out/spark}/$version"/lib/python3*/site-packages/pyspark/jars "$kept"; do
	if [ -e "$jars/spark-core_2.13-$version.jar" ]; then
		from=$jars
		break
	fi
done

if [ -z "$from" ]; then
	echo "fetching Spark $version from PyPI, for the jars that the plugin compiles against" >&2
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT INT TERM
	python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary pyspark -d "$fresh" "pyspark==$version" >&2
	patterns=
	for name in $names; do patterns="$patterns */jars/${name}[-_][0-9]*.jar"; done
	set -f
	# shellcheck disable=SC2086 # a list of patterns
	tar -xzf "$fresh/pyspark-$version.tar.gz" -C "$fresh" --wildcards --strip-components 3 $patterns
	set +f
	mkdir -p "$kept"
	mv "$fresh"/*.jar "$kept/"
	from=$kept
fi

mkdir -p "$dir"
for name in $names; do
	found=
	for jar in "$from/$name"[-_][0-9]*.jar; do
		if [ -e "$jar" ]; then found=$jar; fi
	done
	if [ -z "$found" ]; then
		echo "tools/spark-jars.sh: $from has no $name-VERSION.jar, as Spark $version should; install it again: bin/pigeon spark setup --version $version DIR" >&2
		exit 1
	fi
	ln -sfn "$found" "$dir/$name.jar"
done
