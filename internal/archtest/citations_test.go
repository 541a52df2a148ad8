package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	citedPage = regexp.MustCompile(`(?:docs|bench/results)/[a-zA-Z0-9/_-]+\.md`)
	// citedSection is a page of the specification with the number of a section.
	citedSection = regexp.MustCompile(`(docs/[a-zA-Z0-9/_-]+\.md), section (\d+)`)
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeBlock    = regexp.MustCompile("(?ms)^```.*?^```")
	headingLine  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// examplePage stands for any page in the texts of these tests.
const examplePage = "docs/page.md"

// sources lists the hand-written files: code, pages, settings and scripts.
func sources(t *testing.T, root string) (paths []string) {
	t.Helper()
	skip := []string{".git", "out", "bin", "gen", "target", "dist", "node_modules", "testdata"}
	kinds := []string{".go", ".md", ".scala", ".java", ".thrift", ".yaml", ".yml", ".sh", ".py", ".tmpl"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skip, d.Name()):
			return filepath.SkipDir
		case !d.IsDir() && (slices.Contains(kinds, filepath.Ext(path)) || d.Name() == "Makefile"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestCitedPagesExist: the pages and sections that code and pages cite, and the targets
// of relative links with their headings, exist.
func TestCitedPagesExist(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	cited := 0
	for _, path := range sources(t, root) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, here := string(data), strings.TrimPrefix(path, root+"/")
		for _, page := range citedPage.FindAllString(text, -1) {
			if page == examplePage {
				continue
			}
			cited++
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s cites %s, which does not exist", here, page)
			}
		}
		for _, m := range citedSection.FindAllStringSubmatch(text, -1) {
			page, err := os.ReadFile(filepath.Join(root, m[1]))
			if err == nil && !strings.Contains(string(page), "\n## "+m[2]+". ") {
				t.Errorf("%s cites section %s of %s, which has no heading \"## %s. ...\"", here, m[2], m[1], m[2])
			}
		}
		if filepath.Ext(path) != ".md" {
			continue
		}
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := path // of a link within the page
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", here, m[1])
			} else if heading != "" && !slices.Contains(headings(read(t, to)), heading) {
				t.Errorf("%s links to %s, and %s has no such heading", here, m[1], strings.TrimPrefix(to, root+"/"))
			}
		}
	}
	if cited < 50 {
		t.Errorf("only %d citations of pages were found; the pattern %s no longer fits", cited, citedPage)
	}
}

// headings returns the names by which links reach the headings of a page: in lower case, with
// dashes for spaces and without other marks.
func headings(page string) (names []string) {
	for _, m := range headingLine.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		title := markdownLink.ReplaceAllString(strings.ReplaceAll(m[1], "[", ""), "")
		names = append(names, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
	}
	return names
}

// TestEveryPageIsInTheIndex: docs/README.md links to each page of docs/, decisions apart, and
// bench/results/README.md to each page of results.
func TestEveryPageIsInTheIndex(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	for folder, least := range map[string]int{"docs": 20, "bench/results": 10} {
		linked := map[string]bool{"README.md": true}
		for _, m := range markdownLink.FindAllStringSubmatch(read(t, filepath.Join(root, folder, "README.md")), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			linked[target] = true
		}
		pages, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil || len(pages) < least {
			t.Fatalf("%d pages of %s, %v", len(pages), folder, err)
		}
		for _, page := range pages {
			if !linked[filepath.Base(page)] {
				t.Errorf("%s/README.md has no link to %s", folder, filepath.Base(page))
			}
		}
	}
}

var (
	inBackquotes = regexp.MustCompile("`([^`\n]+)`")
	makeCall     = regexp.MustCompile(`(?:^|[&;] ?|\w+=\S+ )make ([a-z][a-z0-9-]*)`)
	makeTarget   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	treePath     = regexp.MustCompile(`^([a-z]+)/[A-Za-z0-9_./-]+$`)
)

// elsewhere are paths of pages that are in no clone: of what make builds outside out and bin, and of
// other repositories.
var elsewhere = []string{"sparkplugin/dist", "deploy/ec2/template/new_trace/pigeon_trace/NGO_trace50"}

// TestCitedTargetsAndPathsExist: the targets of make, and the files and folders of this repository,
// that pages name between backquotes exist.
func TestCitedTargetsAndPathsExist(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(read(t, filepath.Join(root, "Makefile")), -1) {
		targets[m[1]] = true
	}
	cited := 0
	for _, path := range sources(t, root) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		here := strings.TrimPrefix(path, root+"/")
		for _, quote := range inBackquotes.FindAllStringSubmatch(read(t, path), -1) {
			if m := makeCall.FindStringSubmatch(quote[1]); m != nil {
				if cited++; !targets[m[1]] {
					t.Errorf("%s names `make %s`, and the Makefile has no such target", here, m[1])
				}
			}
			m := treePath.FindStringSubmatch(quote[1])
			if m == nil || m[1] == "out" || m[1] == "bin" || slices.Contains(elsewhere, quote[1]) {
				continue
			}
			if top, err := os.Stat(filepath.Join(root, m[1])); err != nil || !top.IsDir() {
				continue
			}
			cited++
			if _, err := os.Stat(filepath.Join(root, quote[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", here, quote[1])
			}
		}
	}
	if cited < 200 {
		t.Errorf("only %d targets and paths were found; the patterns no longer fit", cited)
	}
}

var (
	goTest   = regexp.MustCompile(`go test ((?:-?[^\s\x60#]+|'[^']*') ?)+`)
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+\b`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	goWord   = regexp.MustCompile(`'[^']*'|[^\s]+`)
)

// TestCitedTestsExist: the tests that pages name exist, and each "go test" of a page selects at
// least one in the packages that it names.
func TestCitedTestsExist(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	inFolder := map[string][]string{}
	var pages, all []string
	for _, path := range sources(t, root) {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		} else if strings.HasSuffix(path, "_test.go") {
			folder := strings.TrimPrefix(filepath.Dir(path), root+"/")
			for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
				inFolder[folder] = append(inFolder[folder], m[1])
				all = append(all, m[1])
			}
		}
	}
	cited := 0
	for _, path := range pages {
		here, text := strings.TrimPrefix(path, root+"/"), read(t, path)
		for _, name := range testName.FindAllString(text, -1) {
			cited++
			if !slices.ContainsFunc(all, func(test string) bool { return strings.HasPrefix(test, name) }) { // -run selects by a part
				t.Errorf("%s names %s, which is no test", here, name)
			}
		}
		for _, at := range goTest.FindAllStringIndex(text, -1) {
			call, module := text[at[0]:at[1]], ""
			if strings.HasSuffix(text[:at[0]], "cd bench && ") { // the laboratory is a module of its own
				module = "bench/"
			}
			var folders []string
			selects := map[string]string{"-run": "^Test", "-bench": "^$"}
			words := goWord.FindAllString(call, -1)
			for i, word := range words {
				if folder, ok := strings.CutPrefix(word, "./"); ok {
					folders = append(folders, module+strings.TrimRight(folder, ".,;:)"))
				}
				if _, ok := selects[word]; ok && i+1 < len(words) {
					pattern, _, _ := strings.Cut(strings.Trim(words[i+1], "'"), "/")
					selects[word] = pattern
				}
			}
			cited++
			found := false
			for _, folder := range folders {
				for _, name := range inFolder[folder] {
					kind := "-run"
					if strings.HasPrefix(name, "Benchmark") {
						kind = "-bench"
					}
					selected, err := regexp.MatchString(selects[kind], name)
					found = found || err == nil && selected
				}
			}
			if !found {
				t.Errorf("%s has %q, which selects no test", here, strings.TrimSpace(call))
			}
		}
	}
	if cited < 50 {
		t.Errorf("only %d tests were found; the patterns no longer fit", cited)
	}
}

// TestEveryLossIsShown: each row of the table in docs/operations.md of what survives what names the
// test that shows it, and each of these tests exists (TestCitedTestsExist).
func TestEveryLossIsShown(t *testing.T) {
	_, section, _ := strings.Cut(read(t, filepath.Join(moduleRoot(t, shipped(t)), "docs", "operations.md")), "\n## What survives what\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, rows, _ := strings.Cut(section, "| --- | --- | --- | --- |\n")
	shown := 0
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| ") {
			continue
		}
		if shown++; !testName.MatchString(cells[len(cells)-1]) {
			t.Errorf("docs/operations.md: no test shows what survives the loss %q", cells[0])
		}
	}
	if shown < 15 {
		t.Errorf("%d losses were found", shown)
	}
}
