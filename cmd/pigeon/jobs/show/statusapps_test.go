package show

import (
	"strings"
	"testing"
)

func TestApplicationsOnTheNodes(t *testing.T) {
	for _, c := range []struct {
		apps []string
		want string
	}{
		{nil, ""},
		{[]string{"", ""}, ""},
		{[]string{"sql", "", "batch", "sql"}, "applications on the nodes: batch, sql; "},
		{[]string{"\x1b[2Jevil\nn9"}, "applications on the nodes: ?[2Jevil?n9; "},
	} {
		var out strings.Builder
		printApplications(&out, NamedOnce(c.apps))
		if got := out.String(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: printed %q, want %q", c.apps, got, c.want)
		}
	}
}
