package drawing

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// Every module is inlined, and nothing of the syntax of modules is left.
func TestInline(t *testing.T) {
	files, err := fs.Glob(Modules(), "*.js")
	if err != nil || len(files) != len(names) {
		t.Errorf("files %v, %v, names %v", files, err, names)
	}
	for _, f := range files {
		if !slices.Contains(names, f) {
			t.Errorf("%s is not inlined", f)
		}
	}
	text, err := Inline()
	if err != nil || strings.Contains(text, "export ") || strings.Contains(text, "import ") || !strings.Contains(text, "function layout(") || strings.Contains(text, "</") {
		t.Errorf("%v: %s", err, text)
	}
}
