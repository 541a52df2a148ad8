package webpage

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// Every module is inlined, and nothing of the syntax of modules is left.
func TestInlineDrawing(t *testing.T) {
	files, err := fs.Glob(drawing, "drawing/*.js")
	if err != nil || len(files) != len(drawingModules) {
		t.Errorf("files %v, %v, drawingModules %v", files, err, drawingModules)
	}
	for _, f := range files {
		if !slices.Contains(drawingModules, path.Base(f)) {
			t.Errorf("%s is not inlined", f)
		}
	}
	text, err := InlineDrawing()
	if err != nil || strings.Contains(text, "export ") || strings.Contains(text, "import ") || !strings.Contains(text, "function layout(") || strings.Contains(text, "</") {
		t.Errorf("%v: %s", err, text)
	}
}
