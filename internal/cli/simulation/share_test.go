package simulation

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestShares(t *testing.T) {
	got, err := ParseShares([]string{"team=2", "team/a=b=0.5,max=0.5,min=0.1"})
	want := []sched.Share{{Owner: "team", Weight: 2}, {Owner: "team/a=b", Weight: 0.5, Max: 0.5, Min: 0.1}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, part := range map[string]string{
		"team": "no weight", "=1": "no weight", "team=0": "a weight is from", "team=NaN": "a weight is from", "team=inf": "a weight is from", "team=x": "no number",
		"a//b=1": "empty", "team=1,mx=2": `no key "mx"`, "team=1,max=2": "above 0 and at most 1", "team=1,min=-1": "from 0 to 1",
	} {
		if _, err := ParseShares([]string{text}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q", text, err, part)
		}
	}
	if _, err := ParseShares([]string{"a=1", "a=2"}); err == nil || !strings.Contains(err.Error(), "two shares") {
		t.Errorf("a share given twice: %v", err)
	}
}
