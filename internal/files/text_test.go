package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/files"
)

func TestReadText(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"\ufeff":         "",
		"a\r\nb":         "a\r\nb",
		"\ufeff# a\n":    "# a\n",
		"a\ufeff":        "a\ufeff",
		"\xff\xfea\x00":  "UTF-16",
		"\xfe\xff\x00a":  "UTF-16",
		"\ufeff12345678": "longer",
	} {
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := files.ReadText(path, 8)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && string(got) != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := files.ReadText(filepath.Join(t.TempDir(), "none"), 8); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
