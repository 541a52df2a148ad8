package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Pages returns the Markdown files of the repository, by their path in it.
func Pages(t testing.TB) map[string]string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (slices.Contains([]string{"out", "bin", "target", "node_modules"}, entry.Name()) || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path) // path begins with root
		texts[name] = string(text)
		return err
	})
	if err != nil || len(texts) < 50 {
		t.Fatalf("%d pages, %v", len(texts), err)
	}
	return texts
}

// CheckCalls fails for each call of a program, with root as its command, that a page writes and
// whose verb or flags do not exist. It returns how many calls there are.
func CheckCalls(t testing.TB, root *cobra.Command) (checked int) {
	t.Helper()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for name, text := range Pages(t) {
		for _, call := range Invocations(text, root.Name()) {
			if fault := CallFault(root, call.Words); fault != "" {
				t.Errorf("%s:%d: %s %s: %s", name, call.Line, root.Name(), strings.Join(call.Words, " "), fault)
			}
			checked++
		}
	}
	return checked
}

// CallFault returns what is wrong with a call; "" when its verb and its flags exist.
func CallFault(root *cobra.Command, words []string) string {
	verb, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if verb == root {
		return "no such verb"
	}
	if len(rest) > 0 && verb.HasSubCommands() && rest[0] == strings.ToLower(rest[0]) && !strings.ContainsAny(rest[0][:1], "-[") {
		return "no such verb below " + verb.Name()
	}
	if verb.DisableFlagParsing {
		return "" // the flags of another program, such as spark-submit
	}
	for _, word := range rest {
		word = strings.Trim(word, "[]|.,")
		if !strings.HasPrefix(word, "-") || word == "-" {
			continue
		}
		flag, _, _ := strings.Cut(word, "=")
		if long, ok := strings.CutPrefix(flag, "--"); ok {
			if verb.Flag(long) == nil && long != "help" {
				return "no flag --" + long
			}
		} else if verb.Flags().ShorthandLookup(flag[1:2]) == nil && flag != "-h" {
			return "no flag " + flag
		}
	}
	return ""
}
