package show

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// What a spreadsheet would run is text in an export.
func TestFormulasInExports(t *testing.T) {
	var out strings.Builder
	w := newCSV(&out)
	if err := w.write([]api.JobUsage{{Job: "=1+1", Name: "@SUM(A1)", Owner: "-2", Submitter: "+3", Reason: "\t=4", App: "a=b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil || !strings.Contains(out.String(), "\n'=1+1,'@SUM(A1),'-2,'+3,a=b,") || !strings.Contains(out.String(), ",'\t=4,") {
		t.Errorf("%s, %v", out.String(), err)
	}
}
