package api_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestShares(t *testing.T) {
	for want, list := range map[string][]api.Share{
		"":                          {{Who: "a"}},
		" (b 9 MB, a 1 MB, c 1 MB)": {{"c", 1}, {"a", 1}, {"d", 0}, {"b", 9}},
		" (a 7 MB, b 6 MB, c 5 MB, d 4 MB, e 3 MB, and 2 others)": {{"g", 1}, {"a", 7}, {"b", 6}, {"c", 5}, {"d", 4}, {"e", 3}, {"f", 2}},
	} {
		if got := api.Shares(list, "MB"); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}
