package clusters

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A plan names, once, the hosts that it drops: nothing stops their daemons.
func TestDroppedHosts(t *testing.T) {
	folder := t.TempDir()
	plan := func(hosts string) (*Plan, []string) {
		p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 10.0.0.1, roles: [master, frontend]}\n"+hosts), folder, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		dropped := p.Dropped(folder)
		if _, err := p.Write(folder); err != nil {
			t.Fatal(err)
		}
		return p, dropped
	}
	const node = "  - {name: %s, address: 10.0.0.%d, prefix: %s, roles: [node], slots: 1}\n"
	a, b := fmt.Sprintf(node, "a", 2, "/one"), fmt.Sprintf(node, "b", 3, "''")
	for _, c := range []struct {
		hosts string
		want  []string
	}{
		{a + b, nil},
		{a + b, nil},
		{strings.Replace(a, "/one", "/two", 1), []string{`host "a" had the prefix "/one"`, `host "b" is not in the inventory any more`}},
		{strings.Replace(a, "/one", "/two", 1), nil},
	} {
		_, got := plan(c.hosts)
		if len(got) != len(c.want) {
			t.Errorf("the plan reports %q, want %q", got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) || !strings.Contains(got[i], "--limit "+want[6:7]) {
				t.Errorf("the plan reports %q, want %q", got[i], want)
			}
		}
	}
}

// A host with a NATS server that keeps replicas is replaced under its name.
func TestReplicasStayWithTheirNames(t *testing.T) {
	const head, server = "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 10.0.0.9, roles: [master, frontend, node], slots: 1}\n", "  - {name: %s, address: 10.0.0.%d, roles: [%s]}\n"
	three := func(third string, address int, roles string) string {
		return head + fmt.Sprintf(server, "a", 1, roles) + fmt.Sprintf(server, "b", 2, "nats") + fmt.Sprintf(server, third, address, "nats")
	}
	for name, c := range map[string]struct{ before, after, refused string }{
		"the same":            {three("c", 3, "nats, master"), three("c", 3, "nats, master"), ""},
		"another address":     {three("c", 3, "nats, master"), three("c", 4, "nats, master"), ""},
		"another name":        {three("c", 3, "nats, master"), three("d", 4, "nats, master"), `the NATS server of host "c" is left out`},
		"without the role":    {three("c", 3, "nats, master"), head + fmt.Sprintf(server, "a", 1, "master") + fmt.Sprintf(server, "b", 2, "nats"), `the NATS server of host "a" is left out`},
		"it keeps nothing":    {three("c", 3, "nats"), three("d", 4, "nats"), ""},
		"without standbys":    {three("c", 3, "nats, master"), three("d", 4, "nats"), ""},
		"one becomes three":   {head + fmt.Sprintf(server, "a", 1, "nats, master"), three("c", 3, "nats, master"), `the NATS server of host "a" was alone`},
		"one keeps nothing":   {head + fmt.Sprintf(server, "a", 1, "nats"), three("c", 3, "nats, master"), ""},
		"there was no server": {head, three("d", 4, "nats, master"), ""},
	} {
		folder := t.TempDir()
		var plans []*Plan
		for _, text := range []string{c.before, c.after} {
			p, err := Make(parse(t, text), folder, time.Now())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			plans = append(plans, p)
		}
		if _, err := plans[0].Write(folder); err != nil {
			t.Fatal(err)
		}
		if err := plans[1].KeepsReplicas(folder); (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}
