package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// fakePython makes an environment when called as "-m venv DIR", whose own
// interpreter "installs" a PySpark of the requested version.
const fakePython = `#!/bin/sh
set -e
case "$1 $2" in
"-m venv")
	mkdir -p "$3/bin"
	cp "$0" "$3/bin/python3"
	: > "$3/pyvenv.cfg" ;;
"-m pip")
	[ ! -e "$(dirname "$0")/../broken" ] || { echo "pip: no network" >&2; exit 1; }
	for last in "$@"; do :; done
	home="$(dirname "$0")/../lib/python3.11/site-packages/pyspark"
	mkdir -p "$home/bin" "$home/jars"
	: > "$home/bin/spark-submit"
	: > "$home/jars/spark-core_2.13-${last#pyspark==}.jar"
	echo "pip: installed $last" ;;
"-c "*)
	home="$(cd "$(dirname "$0")/.." && pwd)/lib/python3.11/site-packages/pyspark"
	[ ! -d "$home" ] || echo "$home" ;;
esac
`

func TestSparkSetup(t *testing.T) {
	root := t.TempDir()
	python, dir := filepath.Join(root, "python3"), filepath.Join(root, "env")
	if err := os.WriteFile(python, []byte(fakePython), 0o700); err != nil {
		t.Fatal(err)
	}
	setup := func(args ...string) (int, string, string) {
		return program(t, append([]string{"spark", "setup", "--python", python, dir}, args...)...)
	}
	code, out, errs := setup()
	if code != cli.ExitDone || !strings.Contains(out, "Spark 4.3.0 (Scala 2.13) in "+dir) || !strings.Contains(out, filepath.Join(dir, "bin", "activate")) {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	for _, step := range []string{"[1/3, ", "[2/3, ", "PySpark 4.3.0", "pip: installed", "[3/3, "} {
		if !strings.Contains(errs, step) {
			t.Errorf("progress %q lacks %q", errs, step)
		}
	}
	if code, _, errs := setup(); code != cli.ExitDone || !strings.Contains(errs, "there already") || strings.Contains(errs, "pip:") {
		t.Errorf("a second time: status %d\n%s", code, errs)
	}
}

func TestSparkSetupRefuses(t *testing.T) {
	root := t.TempDir()
	python, dir := filepath.Join(root, "python3"), filepath.Join(root, "env")
	if err := errors.Join(os.WriteFile(python, []byte(fakePython), 0o700), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	setup := func(python string) (int, string, string) {
		return program(t, "spark", "setup", "--python", python, dir)
	}
	if code, _, errs := setup(python); code != cli.ExitUsage || !strings.Contains(errs, dir) || !strings.Contains(errs, "name a new folder") {
		t.Errorf("a folder in use: status %d: %s", code, errs)
	}
	// An interrupted setup is continued, and an error of pip is reported.
	for _, name := range []string{"pyvenv.cfg", "broken"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := setup(python); code != cli.ExitFailed || !strings.Contains(errs, "no network") || !strings.Contains(errs, "installing PySpark 4.3.0") {
		t.Errorf("without a network: status %d: %s", code, errs)
	}
	if code, _, errs := setup(filepath.Join(root, "absent")); code != cli.ExitFailed || !strings.Contains(errs, "absent") || !strings.Contains(errs, "python3-venv") {
		t.Errorf("without a Python: status %d: %s", code, errs)
	}
}
