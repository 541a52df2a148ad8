package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// Every verb that the help shows has a manual page, of the commit's date, and two runs write the
// same bytes.
func TestManual(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "man1"), t.TempDir()
	v := version{Version: "v1.2.3", Time: "2026-02-03T04:05:06Z"}
	for _, folder := range []string{first, second} {
		if err := writeManual(newRoot(testRoles()), folder, v); err != nil {
			t.Fatal(err)
		}
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(first, name+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		again, err := os.ReadFile(filepath.Join(second, name+".1"))
		if err != nil || string(again) != string(page) {
			t.Errorf("a second run wrote another page of %s, %v", name, err)
		}
		for _, part := range []string{".TH", "Feb 2026", "pigeon v1.2.3", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the page of %s lacks %q", name, part)
			}
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				look(c)
			}
		}
	}
	look(newRoot(testRoles()))
}

func TestManualWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := pigeon(t, "man", filepath.Join(file, "man1"))
	if code != exitFailed || !strings.Contains(errs, "name another one") {
		t.Errorf("status %d: %s", code, errs)
	}
	// A build without a commit has no date, and pages all the same.
	if err := writeManual(newRoot(testRoles()), t.TempDir(), version{Version: "(devel)", Time: time.Kitchen}); err != nil {
		t.Error(err)
	}
}
