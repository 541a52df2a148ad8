package attempts

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// TestCodes: each code has a byte of its own, and an unknown name has none.
func TestCodes(t *testing.T) {
	seen := map[code]bool{0: true}
	for _, name := range api.FailureCodes() {
		c := codeOf(name)
		if seen[c] || c.String() != name {
			t.Errorf("the code %s is %d, which is %q", name, c, c)
		}
		seen[c] = true
	}
	if codeOf("later") != 0 || code(200).String() != "" || code(0).String() != "" {
		t.Error("an unknown code has a name")
	}
}
