#!/bin/sh
# The client for Python: 'python.sh wheel' builds it, 'python.sh test' checks the types of
# its sources and tests the wheel on a real cluster, 'python.sh test-long' runs the examples
# with Dask and Airflow. Everything happens in virtual environments below out/python;
# 'python.sh environment' only makes that of the tests.
set -eu

do=$1
root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$root/out}
mkdir -p "$out/python"
out=$(cd "$out/python" && pwd)

# environment NAME: makes out/python/NAME with what python/requirements-NAME.txt pins,
# unless it has them already.
environment() {
	wanted=$(cat "$root/python/requirements-$1.txt" && "${PYTHON:-python3}" --version)
	if [ "$(cat "$out/$1/installed" 2>/dev/null)" != "$wanted" ]; then
		rm -rf "$out/$1"
		"${PYTHON:-python3}" -m venv "$out/$1"
		"$out/$1/bin/python" -m pip install -q --disable-pip-version-check -r "$root/python/requirements-$1.txt"
		echo "$wanted" >"$out/$1/installed"
	fi
}

# wheel: builds out/python/dist/*.whl from a copy of the sources, which the build leaves files in.
wheel() {
	rm -rf "$out/source" "$out/dist"
	mkdir -p "$out/source"
	cp "$root/python/pyproject.toml" "$root/python/README.md" "$root/LICENSE" "$out/source/"
	cp -r "$root/python/src" "$out/source/src"
	find "$out/source" -name __pycache__ -prune -exec rm -rf {} +
	"$out/test/bin/python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$out/dist" "$out/source"
	ls "$out"/dist/*.whl
}

# install NAME: installs the wheel in an environment.
install() {
	"$out/$1/bin/python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "$out"/dist/*.whl
}

environment test
[ "$do" = environment ] || wheel
case $do in
environment | wheel) ;;
test)
	install test
	cd "$root/python"
	"$out/test/bin/mypy" --cache-dir "$out/mypy"
	PIGEON_TEST_PROGRAM="$root/bin/pigeon" "$out/test/bin/python" -B -m unittest discover -t . -s tests
	;;
test-long)
	environment examples
	install examples
	cd "$root/python"
	PIGEON_TEST_PROGRAM="$root/bin/pigeon" "$out/examples/bin/python" -B -m unittest discover -t . -s examples
	;;
*)
	echo "usage: tools/python.sh environment|wheel|test|test-long" >&2
	exit 2
	;;
esac
