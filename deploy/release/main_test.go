package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// repository is the root of the repository.
const repository = "../.."

// testTime is that of the commit of test releases.
var testTime = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// readRepositorySettings returns the settings of the repository.
func readRepositorySettings(t *testing.T) settings {
	t.Helper()
	s, err := readSettings(filepath.Join(repository, settingsFile))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// staged returns a release of the repository's packaging with small files in place of the built
// ones: the program is a script that prints its version.
func staged(t *testing.T, platforms ...platform) *release {
	t.Helper()
	source, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{
		settings: readRepositorySettings(t), root: source, source: source, folder: t.TempDir(), stage: t.TempDir(), out: io.Discard,
		version: "1.2.3-rc.1", commit: "0123456789abcdef0123456789abcdef01234567", time: testTime,
	}
	r.settings.Platforms = platforms
	write := func(mode os.FileMode, text string, path string) {
		t.Helper()
		if err := writeFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	all := platform{}
	for role := range r.settings.Settings {
		write(0o600, "# settings of "+role+"\n", r.staged(all, "etc", role+".yaml"))
	}
	for _, file := range shells {
		write(0o664, "# "+file+"\n", r.staged(all, "completions", file))
	}
	for _, p := range platforms {
		write(0o700, "#!/bin/sh\necho pigeon 1.2.3-rc.1\n", r.staged(p, "pigeon"))
		write(0o600, "{}\n", r.staged(p, "pigeon.cdx.json"))
		write(0o600, "licences\n", r.staged(p, "THIRD-PARTY-LICENSES"))
	}
	return r
}

var amd64, arm64 = platform{"linux", "amd64"}, platform{"linux", "arm64"}
