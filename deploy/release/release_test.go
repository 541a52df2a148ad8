package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Two releases of one commit are the same bytes, and their program prints its version and commit.
func TestReleasesAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	commit, err := git(t.Context(), repository, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	folders := [2]string{t.TempDir(), t.TempDir()}
	t.Setenv("SOURCE_DATE_EPOCH", "") // is set, and restored
	for i, folder := range folders {
		if i == 1 { // no part of the first build is used for the second
			t.Setenv("GOCACHE", filepath.Join(t.TempDir(), "cache"))
		}
		if err := run(t.Context(), []string{"-root", repository, "-commit", commit, "-version", "0.9.0-test.1", "-platforms", own().String(), "-out", filepath.Join(folder, "release")}, os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	var sums [2]string
	for i, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "release", checksumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("two releases of one commit differ:\n%s\n%s", sums[0], sums[1])
	}
	for _, ending := range []string{".tar.gz", ".deb", ".rpm", "_image.tar", ".cdx.json"} {
		if !strings.Contains(sums[0], own().arch+ending+"\n") {
			t.Errorf("there is no %s: %s", ending, sums[0])
		}
	}
}

// A version that the module's path cannot have, or that is malformed, is refused with the reason.
func TestVersionsAreChecked(t *testing.T) {
	for version, problem := range map[string]string{"": "VERSION=1.2.3", "v1.2.3": "of the form", "1.2": "of the form", "01.2.3": "of the form"} {
		err := run(t.Context(), []string{"-root", repository, "-version", version, "-out", filepath.Join(t.TempDir(), "release")}, os.Stderr)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", version, err, problem)
		}
	}
}

// proxy returns a folder that serves the module at a version as a module proxy does, made from the
// committed files.
func proxy(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	r := &release{source: filepath.Join(t.TempDir(), "source"), version: strings.TrimPrefix(version, "v"), out: io.Discard}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	r.root = root
	if err := r.clone(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(folder, productModule, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromVCS(f, module.Version{Path: productModule, Version: version}, r.source, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(r.source, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{version + ".mod": string(mod), "list": version + "\n", version + ".info": `{"Version":"` + version + `"}`} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// The committed files are a module that others can install: it has no replacements, and no file
// that modules cannot have.
func TestModuleCanBeInstalled(t *testing.T) {
	proxy(t, "v0.9.0")
	mod, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, directive := range []string{"replace", "exclude"} {
		if strings.Contains(string(mod), "\n"+directive+" ") {
			t.Errorf("go.mod has the directive %s, with which 'go install module@version' refuses it", directive)
		}
	}
}

// 'go install .../cmd/pigeon@version' works from a module proxy, and the program prints that
// version.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program from modules alone")
	}
	const version = "v0.9.0-test.1"
	cache, err := output(t.Context(), repository, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	bin, own := t.TempDir(), filepath.Join(t.TempDir(), "modules")
	environ := append(goEnviron(),
		"GOBIN="+bin, "GOMODCACHE="+own, "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB="+productModule, "GONOSUMCHECK=1", "GOSUMDB=off",
		"GOPROXY=file://"+proxy(t, version)+",file://"+filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	if _, err := output(t.Context(), t.TempDir(), environ, "go", "install", productModule+"/cmd/pigeon@"+version); err != nil {
		t.Fatal(err)
	}
	got, err := output(t.Context(), "", nil, filepath.Join(bin, "pigeon"), "version")
	if err != nil || !strings.HasPrefix(string(got), "pigeon "+version+", go1.") {
		t.Errorf("it says %q, %v", got, err)
	}
}
