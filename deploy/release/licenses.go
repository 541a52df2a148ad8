package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// licensed is a module with its licences and the files that state them.
type licensed struct {
	goModule
	licenses []string // SPDX, sorted
	files    []string
}

var (
	// licenseName is the name of a file that states a licence, noticeName of one that must be passed
	// on with it.
	licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|ofl)([-._].*)?$`)
	noticeName  = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
)

// leastCovered is the share of a file's lines, in percent, that known licences must cover: the rest
// is names and years.
const leastCovered = 75

// knownLicenses returns what identifies licences, which takes a second to make.
var knownLicenses = sync.OnceValues(assets.DefaultClassifier)

// identify returns the licences (SPDX) that a text states, and the share of its lines, in percent,
// that they cover.
func identify(text []byte) (ids []string, covered int, err error) {
	known, err := knownLicenses()
	if err != nil {
		return nil, 0, err
	}
	lines := strings.Split(string(text), "\n")
	found := known.Match(text)
	for _, m := range found.Matches {
		if m.MatchType == "License" {
			ids = append(ids, m.Name)
		}
	}
	all := 0
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		all++
		if slices.ContainsFunc(found.Matches, func(m *classifier.Match) bool {
			return (m.MatchType == "License" || m.MatchType == "Copyright") && m.StartLine <= i+1 && i+1 <= m.EndLine
		}) {
			covered++
		}
	}
	return ids, 100 * covered / max(all, 1), nil
}

// licensesOf reads the licences of a module and refuses one that is not allowed.
func licensesOf(m goModule, s settings) (licensed, error) {
	l := licensed{goModule: m}
	found, err := os.ReadDir(m.Dir)
	if err != nil {
		return l, fmt.Errorf("the files of %s cannot be read (go mod download): %w", m, err)
	}
	var doubts []string
	for _, d := range found {
		path := filepath.Join(m.Dir, d.Name())
		switch {
		case d.IsDir(), strings.HasSuffix(d.Name(), ".go"):
			continue
		case noticeName.MatchString(d.Name()):
			l.files = append(l.files, path)
			continue
		case !licenseName.MatchString(d.Name()):
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return l, err
		}
		l.files = append(l.files, path)
		ids, covered, err := identify(text)
		if err != nil {
			return l, err
		}
		l.licenses = append(l.licenses, ids...)
		if covered < leastCovered {
			doubts = append(doubts, fmt.Sprintf("%s is known to %d %%", d.Name(), covered))
		}
	}
	slices.Sort(l.licenses)
	l.licenses = slices.Compact(l.licenses)
	return l.judge(s, doubts)
}

// judge applies the decisions in the settings, and refuses licences that are not allowed.
func (l licensed) judge(s settings, doubts []string) (licensed, error) {
	for _, d := range s.Decided {
		if d.Module == l.String() {
			l.licenses = d.Licenses
			for _, file := range d.Files {
				l.files = append(l.files, filepath.Join(l.Dir, file))
			}
			return l, nil
		}
	}
	if len(l.licenses) == 0 {
		doubts = append(doubts, "no licence was found")
	}
	for _, id := range l.licenses {
		if !slices.Contains(s.Licenses, id) {
			doubts = append(doubts, id+" is not among the allowed")
		}
	}
	if len(doubts) > 0 {
		return l, fmt.Errorf("%s: %s; read its licence in %s, and add it to licenses or decided in %s, or do without the module",
			l, strings.Join(doubts, ", "), l.Dir, settingsFile)
	}
	return l, nil
}

// allLicenses returns the licences of all modules; the error has everything that is not allowed.
func allLicenses(list []goModule, s settings) (all []licensed, err error) {
	for _, m := range list {
		l, problem := licensesOf(m, s)
		err = errors.Join(err, problem)
		all = append(all, l)
	}
	return all, err
}

// listLicenses prints the licences of the modules in the programs of all platforms.
func listLicenses(ctx context.Context, source string, s settings, out io.Writer) error {
	known := map[string]bool{}
	var list []goModule
	for _, p := range s.Platforms {
		more, err := modules(ctx, source, p)
		if err != nil {
			return err
		}
		for _, m := range more {
			if !known[m.String()] {
				known[m.String()] = true
				list = append(list, m)
			}
		}
	}
	all, problems := allLicenses(list, s)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\n", l, strings.Join(l.licenses, ", "))
	}
	return errors.Join(w.Flush(), problems)
}

// writeThirdParty writes the licences and notices of modules, one after another.
func writeThirdParty(w io.Writer, all []licensed) error {
	if _, err := fmt.Fprintf(w, "The program pigeon contains Go and %d modules. Their licences and notices follow.\n", len(all)-1); err != nil {
		return err
	}
	for _, l := range all {
		if _, err := fmt.Fprintf(w, "\n%s\n%s (%s)\n", strings.Repeat("=", 80), l, strings.Join(l.licenses, ", ")); err != nil {
			return err
		}
		for _, file := range l.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "\n--- %s\n\n%s\n", filepath.Base(file), strings.TrimRight(string(text), "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}
