package access

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// What a frontend took for the proof is printed, also where this command offered another one.
func TestWhatProved(t *testing.T) {
	const token = "the token in x"
	for _, c := range []struct {
		p       identity.Principal
		offered string
		want    string
	}{
		{identity.Principal{Name: "al", Role: identity.User, Proof: identity.Token}, token, "user al (token); proven by the token in x"},
		{identity.Principal{Name: "al", Role: identity.User, Proof: identity.Kernel}, connect.ByKernel, "user al (kernel); proven by the kernel, which knows whose process calls on this machine"},
		{identity.Principal{Name: "al", Role: identity.User, Proof: identity.Kernel}, token, "proven by the kernel, which knows whose process calls on this machine; the token in x proves nothing there"},
		{identity.Principal{Name: "al", Role: identity.Superuser, Proof: identity.Insecure}, token, "proven by nothing: that frontend is insecure"},
	} {
		var out strings.Builder
		if err := printPrincipal(&out, cli.OutputText, "f:1", c.p, c.offered); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v, with %s offered: %v, %q; want %q", c.p, c.offered, err, out.String(), c.want)
		}
	}
}
