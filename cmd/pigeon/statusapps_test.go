package main

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
	} {
		var out strings.Builder
		printApplications(&out, namedOnce(c.apps))
		if got := out.String(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: printed %q, want %q", c.apps, got, c.want)
		}
	}
}
