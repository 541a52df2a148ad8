package webpage

import (
	"embed"
	"strings"
)

// drawing has the script modules that draw cells, blocks and numbers. They know nothing about a cluster:
// this page and those that play simulations and replays (package bench/watch) use the same.
//
//go:embed drawing/*.js
var drawing embed.FS

// drawingModules are their names in an order in which each follows those that it needs.
var drawingModules = []string{"format.js", "canvas.js", "blocks.js"}

// InlineDrawing returns all modules as one text for a script element, of a page that has no server to
// load modules from.
func InlineDrawing() (string, error) {
	var b strings.Builder
	for _, name := range drawingModules {
		text, err := drawing.ReadFile("drawing/" + name)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "import ") {
				b.WriteString(strings.TrimPrefix(line, "export "))
			}
		}
	}
	return b.String(), nil
}
