package applications

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

var (
	full     = flag.Bool("full", false, "run every application, in both modes, and the features of Spark")
	lines    = flag.String("lines", sparktest.Line, "the lines of Spark that applications run on, apart by spaces")
	modes    = flag.String("modes", "local grants coarse", "of these, with -full: the application on local[2], and the modes of the plugin")
	features = flag.String("features", sparktest.Line, "the line of Spark that features are tried on")
	table    = flag.String("table", "", "write what ran to this file, as Markdown")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if *table != "" {
			if err := writeTable(*table); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = max(code, 1)
			}
		}
		os.Exit(code)
	}))
}
