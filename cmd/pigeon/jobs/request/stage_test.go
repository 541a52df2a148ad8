package request

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// What --stage names, and under which names.
func TestStage(t *testing.T) {
	dir := inputs(t)
	t.Chdir(dir)
	for _, c := range []struct {
		arguments []string
		want      string // names, with * behind executable ones; or the error
	}{
		{[]string{"tool"}, "tool*"},
		{[]string{"./in/a"}, "a"},
		{[]string{dir + "/tool=bin/t", "in/a=x"}, "bin/t* x"},
		{[]string{"in"}, "in/a in/b/c"},
		{[]string{"in/"}, "in/a in/b/c"},
		{[]string{"in=."}, "a b/c"},
		{[]string{"in/=other/"}, "other/a other/b/c"},
		{[]string{"pair=of=pair"}, "pair"},
		{[]string{"in/../in/b"}, "b/c"},
		{[]string{"pair=of"}, "--stage pair=of: lstat pair: no such file"},
		{[]string{"=t"}, "--stage =t: there is no file or folder before =; name one, . for this folder"},
		{[]string{"tool="}, "there is no name behind ="},
		{[]string{"in/link"}, "links are not followed"},
		{[]string{"/dev/null"}, "it is no regular file"},
		{[]string{"none"}, "no such file"},
	} {
		var errs bytes.Buffer
		s, err := stage(c.arguments, noLimit, &errs)
		var names []string
		for _, f := range s.list {
			name := f.Name
			if f.Executable {
				name += "*"
			}
			names = append(names, name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.arguments, got, c.want)
		}
		if left := strings.Contains(errs.String(), "1 entry is left out"); left != (slices.Contains([]string{"in", "in/", "in=.", "in/=other/"}, c.arguments[0])) {
			t.Errorf("%q says %q", c.arguments, errs.String())
		}
	}
	for i := range api.MaxStagedFiles {
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("f%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stage([]string{"in"}, noLimit, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "more than 1000 files, the limit of a job") {
		t.Errorf("%v", err)
	}
}

// noLimit is that of a frontend that does not say it.
func noLimit() int64 { return 0 }

// Sizes decide before anything is read, and equal contents count once.
func TestStageWithinALimit(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"a": "123456", "same": "123456", "b": "654321", "long": "1234567"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("huge", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("huge", 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit     int64
		arguments string
		want      string // of the error; empty for none
	}{
		{6, "a", ""},
		{6, "a same", ""},
		{12, "a b same", ""},
		{11, "a b same", "12 bytes or more, more than the limit of 11 a job (stage_job_bytes)"},
		{12, "a long huge", "1099511627789 bytes or more, more than the limit of 12 a job (stage_job_bytes)"},
		{64 << 20, "huge", "1099511627776 bytes or more, more than the limit of 67108864 a job (stage_job_bytes)"},
		{-1, "huge", "this frontend takes no staged files (stage_job_bytes is 0)"},
		{0, "a b long", ""},
	} {
		_, err := stage(strings.Fields(c.arguments), func() int64 { return c.limit }, &bytes.Buffer{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s within %d: %v, want %q", c.arguments, c.limit, err, c.want)
		}
	}
}

// inputs makes a folder of files: in/a, in/b/c, in/link (a link), tool (executable), pair=of.
func inputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"in/b/c": 0o600, "in/a": 0o644, "tool": 0o700, "pair=of": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "in/link")); err != nil {
		t.Fatal(err)
	}
	return dir
}
