package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// moduleWith returns a module with files.
func moduleWith(t *testing.T, texts map[string]string) goModule {
	t.Helper()
	folder := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return goModule{Path: "example.org/m", Version: "v1.0.0", Dir: folder}
}

// apache is a licence that is allowed.
func apache(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// proprietary is a text that no list of licences has.
const proprietary = "All rights reserved. Nobody may use, copy or pass on any part of this program without the written consent of its owner."

func TestLicenses(t *testing.T) {
	s := settings{Licenses: []string{"Apache-2.0"}}
	good, err := licensesOf(moduleWith(t, map[string]string{"LICENSE": apache(t), "NOTICE.txt": "by us", "license.go": "package m"}), s)
	if err != nil || !slices.Equal(good.licenses, []string{"Apache-2.0"}) || len(good.files) != 2 {
		t.Errorf("%v of %v, %v", good.licenses, good.files, err)
	}
	for name, c := range map[string]struct {
		files   map[string]string
		allowed []string
		problem string
	}{
		"no licence":       {map[string]string{"README": apache(t)}, []string{"Apache-2.0"}, "no licence was found"},
		"another licence":  {map[string]string{"LICENSE": apache(t)}, []string{"MIT"}, "Apache-2.0 is not among the allowed"},
		"an unknown one":   {map[string]string{"LICENSE": proprietary}, []string{"Apache-2.0"}, "no licence was found"},
		"one more unknown": {map[string]string{"LICENSE": apache(t), "COPYING": proprietary}, []string{"Apache-2.0"}, "COPYING is known to 0 %"},
	} {
		m := moduleWith(t, c.files)
		if _, err := licensesOf(m, settings{Licenses: c.allowed}); err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), settingsFile) {
			t.Errorf("%s: %v", name, err)
		}
		decided := settings{Decided: []decision{{Module: m.String(), Licenses: []string{"MIT"}, Why: "its README says so"}}}
		if l, err := licensesOf(m, decided); err != nil || !slices.Equal(l.licenses, []string{"MIT"}) {
			t.Errorf("%s, decided: %v, %v", name, l.licenses, err)
		}
	}
	if _, err := licensesOf(goModule{Path: "example.org/m", Dir: filepath.Join(t.TempDir(), "absent")}, s); err == nil || !strings.Contains(err.Error(), "go mod download") {
		t.Errorf("of an absent module: %v", err)
	}
}

// Every module in the programs has a licence that is allowed, and the list of third parties has the
// text of each.
func TestLicensesOfThisProgram(t *testing.T) {
	s := readRepositorySettings(t)
	list, err := modules(t.Context(), repository, own())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 || list[0].Path != standardLibrary {
		t.Fatalf("%d modules, the first of them %v", len(list), list[0])
	}
	all, err := allLicenses(list, s)
	if err != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := writeThirdParty(&b, all); err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if !strings.Contains(b.String(), "\n"+l.String()+" (") || len(l.files) == 0 && len(s.Decided) == 0 {
			t.Errorf("the list lacks %s, which has %d files", l, len(l.files))
		}
		if l.Path != standardLibrary && !strings.HasPrefix(l.Sum, "h1:") {
			t.Errorf("%s has the sum %q", l, l.Sum)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for text, problem := range map[string]string{
		"platforms: [linux]":                         "linux/amd64",
		"platform: [linux/amd64]":                    "platform",
		"decided: [{module: m@v1, licenses: [MIT]}]": "why",
	} {
		path := filepath.Join(t.TempDir(), "release.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSettings(path); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		}
	}
}
