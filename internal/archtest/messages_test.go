package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// adviceTable is a table of a page that says what to do about messages of the program.
	adviceTable = regexp.MustCompile(`(?m)^\| (?:message|reason) \| what to do \|\n\|[- |]+\|\n((?:\|.*\n)+)`)
	doubleQuote = regexp.MustCompile(`"(.+)"`)
	// variable is what differs between two occurrences of a message (names, numbers, addresses), and
	// what separates its parts.
	variable = regexp.MustCompile(`\.\.\.|"[^"]*"|[:;]|worker n/0|\b[A-Z]{3,}\b|v?[0-9]+(?:\.[0-9]+)*`)
	// joined is where a text continues on the next line of the source.
	joined = regexp.MustCompile(`" \+\s*s?"`)
)

// ofSpark are messages of the tables that Spark itself writes.
var ofSpark = []string{
	"Master must either be yarn or start with spark, k8s, or local",
	"Could not parse Master URL: 'spark-pigeon://...'",
	"PYTHON_VERSION_MISMATCH",
}

// TestExplainedMessagesExist: the program, or the plugin for Spark, contains each message that a
// page says what to do about.
func TestExplainedMessagesExist(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	var source strings.Builder
	var pages []string
	for _, path := range sources(t, root) {
		switch filepath.Ext(path) {
		case ".go", ".scala", ".java":
			if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/src/test/") {
				continue
			}
			source.WriteString(read(t, path))
		case ".md":
			pages = append(pages, path)
		}
	}
	texts := strings.ToLower(joined.ReplaceAllString(strings.ReplaceAll(source.String(), `\"`, `"`), ""))
	found := 0
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range adviceTable.FindAllStringSubmatch(string(page), -1) {
			for row := range strings.Lines(table[1]) {
				for _, message := range messages(row) {
					found++
					if slices.Contains(ofSpark, message) {
						continue
					}
					for _, part := range variable.Split(message, -1) {
						if part = strings.ToLower(strings.Trim(part, " ,.;")); !strings.Contains(texts, part) {
							t.Errorf("%s says what to do about %q, and no source contains %q", strings.TrimPrefix(path, root+"/"), message, part)
						}
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d messages were found; the pattern %s no longer fits", found, adviceTable)
	}
}

// messages returns the messages in the first cell of a row.
func messages(row string) (list []string) {
	cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
	for _, m := range backquoted.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	if m := doubleQuote.FindStringSubmatch(cell); list == nil && m != nil {
		list = append(list, m[1])
	}
	return list
}
