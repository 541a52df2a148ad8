package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	decisionTitle  = regexp.MustCompile(`^# (\d+)\. (.*)\n`)
	decisionStatus = regexp.MustCompile(`(?s)\n## Status\n(.*?)\n\n`)
	// decisionChange is what a decision says of an earlier one that does not hold as it was written.
	decisionChange = regexp.MustCompile(`(?:replaces|changes|completes|Replaces|Changes|Completes) [^.]*?\]\((\d{4}-[a-z0-9-]+\.md)\)`)
	decisionRow    = regexp.MustCompile(`(?m)^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$`)
)

// TestDecisionsAreListed: the decisions are numbered from 1 without holes, and the index lists
// each of them in that order by its title.
func TestDecisionsAreListed(t *testing.T) {
	folder := filepath.Join(moduleRoot(t, shipped(t)), "docs", "adr")
	pages, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pages)
	var want []string
	for i, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, number := filepath.Base(path), fmt.Sprint(i+1)
		title := decisionTitle.FindStringSubmatch(string(text))
		if title == nil || title[1] != number || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Fatalf("%s is decision %d by its place; its first line is %.80q, want \"# %s. title\"", name, i+1, text, number)
		}
		want = append(want, number+" "+name+" "+title[2])
	}
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range decisionRow.FindAllStringSubmatch(string(index), -1) {
		listed = append(listed, row[1]+" "+row[2]+" "+row[3])
	}
	for i := range max(len(want), len(listed)) {
		switch {
		case i >= len(want):
			t.Errorf("row %d of docs/adr/README.md is %q, which is no page", i+1, listed[i])
		case i >= len(listed):
			t.Errorf("docs/adr/README.md does not list %q", want[i])
		case listed[i] != want[i]:
			t.Errorf("row %d of docs/adr/README.md is %q, want %q", i+1, listed[i], want[i])
		}
	}
}

// TestChangedDecisionsSaySo: the status of a decision names each later one that replaces, changes
// or completes a part of it, so that nobody follows a decision that no longer holds.
func TestChangedDecisionsSaySo(t *testing.T) {
	folder := filepath.Join(moduleRoot(t, shipped(t)), "docs", "adr")
	pages, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, path := range pages {
		found := decisionStatus.FindStringSubmatch(read(t, path))
		if found == nil {
			t.Fatalf("%s has no section \"## Status\"", path)
		}
		status[filepath.Base(path)] = found[1]
	}
	changes := 0
	for later, text := range status {
		for _, m := range decisionChange.FindAllStringSubmatch(text, -1) {
			if earlier := m[1]; earlier < later {
				changes++
				if !strings.Contains(status[earlier], "]("+later+")") {
					t.Errorf("%s states that it changes %s, whose status does not name it: %q", later, earlier, status[earlier])
				}
			}
		}
	}
	if changes < 5 {
		t.Errorf("%d changes of decisions were found, want 5 or more; the pattern %s no longer fits", changes, decisionChange)
	}
}
