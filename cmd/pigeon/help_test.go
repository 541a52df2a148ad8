package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// The flags of the connection are one line of a verb's help, and a page of their own.
func TestHelpOfTheConnection(t *testing.T) {
	_, page, _ := pigeon(t, "status", "--help")
	if strings.Contains(page, "--token-file string") || strings.Contains(page, "true|false") || strings.Count(page, "pigeon help connection") != 1 || !strings.Contains(page, "--limit int") {
		t.Error(page)
	}
	if _, page, _ := pigeon(t, "version", "--help"); strings.Contains(page, "help connection") {
		t.Error(page)
	}
	code, all, _ := pigeon(t, "help", "connection")
	for _, flag := range []string{"--frontend", "--timeout", "--retry-for", "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--cluster"} {
		if code != cli.ExitDone || !strings.Contains(all, flag+" ") {
			t.Errorf("%d: %s is not in %s", code, flag, all)
		}
	}
}

// What a spreadsheet would run is text in an export.
func TestFormulasInExports(t *testing.T) {
	var out strings.Builder
	w := newCSV(&out)
	if err := w.write([]api.JobUsage{{Job: "=1+1", Name: "@SUM(A1)", Owner: "-2", Submitter: "+3", Reason: "\t=4", App: "a=b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil || !strings.Contains(out.String(), "\n'=1+1,'@SUM(A1),'-2,'+3,a=b,") || !strings.Contains(out.String(), ",'\t=4,") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestMergeKeysAreRefused(t *testing.T) {
	for _, text := range []string{"command: [a]\n<<: {name: x}\n", "command: [a]\nenv:\n  A: 1\n  <<: {B: 2}\n"} {
		if _, _, err := asked(t, text, "--file", "-"); err == nil || !strings.Contains(err.Error(), "merge keys (<<) are not read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Missing output is explained by what has happened, and the limit is named only where it was met.
func TestWhyOutputIsMissing(t *testing.T) {
	full := incomplete("j", 5, "the disk of its node is nearly full").Error()
	if !strings.Contains(full, "nearly full") || strings.Contains(full, "output_limit") {
		t.Error(full)
	}
	if met := incomplete("j", 5, "its node keeps the first 9 bytes (output_limit) and the last 8").Error(); !strings.Contains(met, "raise output_limit") {
		t.Error(met)
	}
}

// The page of the verb with the most flags is about a screen: a line for each flag, the rest is in docs/jobs.md.
func TestHelpOfSubmitIsShort(t *testing.T) {
	_, page, _ := pigeon(t, "submit", "--help")
	if n := strings.Count(page, "\n"); n > 55 || !strings.Contains(page, "docs/jobs.md") {
		t.Errorf("%d lines:\n%s", n, page)
	}
	for line := range strings.Lines(page) {
		if len(line) > 120 && !strings.Contains(line, "--owner") { // a setting, whose text is that of its file
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
}
