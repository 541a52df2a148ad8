// Package drawing holds the script modules that draw cells, blocks and numbers. They know
// nothing about a cluster: the page of a live one and the pages that play simulations and
// replays (package bench/watch) use the same.
package drawing

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.js
var modules embed.FS

// Modules returns the files, each an ES module.
func Modules() fs.FS { return modules }

// names are the modules in an order in which each follows those that it needs.
var names = []string{"format.js", "canvas.js", "blocks.js"}

// Inline returns all modules as one text for a script element, of a page that has no server to
// load modules from.
func Inline() (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := modules.ReadFile(name)
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
