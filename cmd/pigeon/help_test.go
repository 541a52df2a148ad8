package main

import (
	"strings"
	"testing"

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
