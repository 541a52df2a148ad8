#!/bin/sh
# Checks for what sparkplugin needs: a JDK 17 or newer, and Maven.
set -eu

refuse() {
	echo "$1; install it (apt-get install openjdk-17-jdk maven) or set JAVA_HOME. Only the plugin for Spark needs it" >&2
	exit 2
}

javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
have=$("$javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p') || have=
[ "${have:-0}" -ge 17 ] || refuse "there is no Java compiler 17 or newer ('$javac' is ${have:-missing})"
command -v "${MVN:-mvn}" >/dev/null 2>&1 || refuse "Maven ('${MVN:-mvn}') is missing"
