package backends

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A frontend is known by every spelling of its address and by other names of its host, and the one whose
// last launch is the longest ago is forgotten first.
func TestKnownFrontends(t *testing.T) {
	k := newKnownFrontends()
	k.lookup = func(_ context.Context, host string) ([]string, error) {
		if host == "head" || host == "head.example" {
			return []string{"10.0.0.1", "fd00::1"}, nil
		}
		return nil, errors.New("no such host")
	}
	k.launched("Head:20503")
	k.launched("10.0.0.2:20503")
	k.launched("")
	for named, want := range map[string]string{
		"head:20503": "head:20503", "head.example:20503": "head:20503", "10.0.0.1:20503": "head:20503", "[fd00::1]:20503": "head:20503",
		"10.0.0.2:20503": "10.0.0.2:20503",
		"head:22":        "", "10.0.0.3:20503": "", "other:20503": "", "10.0.0.2": "", "": "",
	} {
		if got := k.find(t.Context(), named); got != want {
			t.Errorf("%q is found as %q, want %q", named, got, want)
		}
	}
	for i := range maxMessagePeers - 1 {
		k.launched(fmt.Sprintf("10.1.%d.%d:1", i>>8, i&0xff))
		k.launched("10.0.0.2:20503")
	}
	if len(k.last) != maxMessagePeers || k.find(t.Context(), "head:20503") != "" || k.find(t.Context(), "10.0.0.2:20503") == "" {
		t.Errorf("%d are known, want the %d of the last launches", len(k.last), maxMessagePeers)
	}
}
