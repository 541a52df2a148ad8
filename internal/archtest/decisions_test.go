package archtest

import (
	"fmt"
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
	// decisionDate is how a status begins: whether the decision holds, and since when.
	decisionDate = regexp.MustCompile(`^(?:Accepted|Superseded[^,]*), \d{1,2} [A-Z][a-z]+ \d{4}[.;]`)
	decisionRow  = regexp.MustCompile(`(?m)^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$`)
	// decisionGone is a number whose page was merged into another one, or moved to that of a feature.
	decisionGone = regexp.MustCompile(`(?m)^- (\d+): (?:merged into \[(\d+)\]\((\d{4})-|a feature, )`)
)

// decisions returns the paths of the pages of decisions, in the order of their numbers.
func decisions(t *testing.T) []string {
	pages, err := filepath.Glob(filepath.Join(moduleRoot(t, shipped(t)), "docs", "adr", "[0-9]*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages of decisions, %v", len(pages), err)
	}
	slices.Sort(pages)
	return pages
}

// TestDecisionsAreListed: the index lists each decision in the order of their numbers by its title,
// and where the page of each other number up to 75 went.
func TestDecisionsAreListed(t *testing.T) {
	var want []string
	numbers := map[string]bool{}
	pages := decisions(t)
	for _, path := range pages {
		text, name := read(t, path), filepath.Base(path)
		title := decisionTitle.FindStringSubmatch(text)
		if title == nil || !strings.HasPrefix(name, fmt.Sprintf("%04s-", title[1])) {
			t.Fatalf("the first line of %s is %.80q, want \"# number. title\" with the number of its name", name, text)
		}
		if numbers[title[1]] {
			t.Errorf("two pages have the number %s", title[1])
		}
		numbers[title[1]] = true
		want = append(want, title[1]+" "+name+" "+title[2])
	}
	index := read(t, filepath.Join(filepath.Dir(pages[0]), "README.md"))
	var listed []string
	for _, row := range decisionRow.FindAllStringSubmatch(index, -1) {
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
	gone := map[string]bool{}
	for _, row := range decisionGone.FindAllStringSubmatch(index, -1) {
		gone[row[1]] = true
		if numbers[row[1]] || row[2] != "" && (!numbers[row[2]] || strings.TrimLeft(row[3], "0") != row[2]) {
			t.Errorf("docs/adr/README.md says %q: a number is a page or is merged into one", row[0])
		}
	}
	for n := range 75 {
		if number := fmt.Sprint(n + 1); !numbers[number] && !gone[number] {
			t.Errorf("docs/adr/README.md does not say where decision %s went", number)
		}
	}
}

// Bounds of docs/adr, in words as wc -w counts them. A reader holds them in two hours; whoever adds a
// decision writes it into the page that it amends, or shortens another.
const (
	decisionWords  = 800
	decisionsWords = 30_000
)

// TestDecisionsAreShort: each page answers why something is so and what was tried instead, in a
// dated status, a context and a decision, within the bounds.
func TestDecisionsAreShort(t *testing.T) {
	pages := decisions(t)
	all := len(strings.Fields(read(t, filepath.Join(filepath.Dir(pages[0]), "README.md"))))
	for _, path := range pages {
		text, name := read(t, path), filepath.Base(path)
		words := len(strings.Fields(text))
		all += words
		if words > decisionWords {
			t.Errorf("%s has %d words, the bound is %d: shorten it to what was decided, refused and measured", name, words, decisionWords)
		}
		if status := decisionStatus.FindStringSubmatch(text); status == nil || !decisionDate.MatchString(status[1]) {
			t.Errorf("%s has no section \"## Status\" that begins with \"Accepted, 1 December 2026.\"", name)
		}
		for _, section := range []string{"\n## Context\n", "\n## Decision\n"} {
			if !strings.Contains(text, section) {
				t.Errorf("%s has no section %q", name, section)
			}
		}
	}
	if all > decisionsWords {
		t.Errorf("docs/adr has %d words, the bound is %d: merge decisions that amend each other, or shorten some", all, decisionsWords)
	}
}

// TestChangedDecisionsSaySo: the status of a decision names each later one that replaces, changes
// or completes a part of it, so that nobody follows a decision that no longer holds.
func TestChangedDecisionsSaySo(t *testing.T) {
	status := map[string]string{}
	for _, path := range decisions(t) {
		found := decisionStatus.FindStringSubmatch(read(t, path))
		if found == nil {
			t.Fatalf("%s has no section \"## Status\"", path)
		}
		status[filepath.Base(path)] = found[1]
	}
	for later, text := range status {
		for _, m := range decisionChange.FindAllStringSubmatch(text, -1) {
			if earlier := m[1]; earlier < later && !strings.Contains(status[earlier], "]("+later+")") {
				t.Errorf("%s states that it changes %s, whose status does not name it: %q", later, earlier, status[earlier])
			}
		}
	}
}
