package nodes

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Tables keep a row to a line, whatever the reason of a node is.
func TestAReasonStaysInItsRow(t *testing.T) {
	var out strings.Builder
	n := api.Node{ID: "n1", State: api.StateLost, Reason: "first\nsecond\tthird"}
	if err := printNodes(&out, []api.MasterState{{Epoch: 1, Nodes: []api.Node{n}}}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "first?second?third") {
		t.Errorf("%s", text)
	}
	// Spaces of other scripts are not taken for commands.
	if got := cli.Printable("山田\u3000花子"); got != "山田\u3000花子" { //nolint:gosmopolitan // such a space is what is tested
		t.Errorf("%q", got)
	}
}
