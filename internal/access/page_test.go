package access_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

var update = flag.Bool("update", false, "write the table of docs/security.md")

const (
	page  = "../../docs/security.md"
	begin = "<!-- The table of roles, by internal/access: make roles -->\n"
	end   = "<!-- end of the table -->\n"
)

// docs/security.md shows the table that the daemons obey.
func TestSecurityPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	have, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s does not have the lines between which the table stands", page)
	}
	want := table()
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s has another table than internal/access; run 'make roles'", page)
	}
}

// table is the table in Markdown.
func table() string {
	roles := slices.Concat([]identity.Role{identity.Nobody}, identity.People, identity.Daemons)
	var b strings.Builder
	b.WriteString("| action |")
	for _, r := range roles {
		name := string(r)
		if r == identity.Nobody {
			name = "nobody"
		}
		fmt.Fprintf(&b, " %s |", name)
	}
	b.WriteString(" calls |\n| --- |" + strings.Repeat(" --- |", len(roles)+1) + "\n")
	for _, a := range access.Actions() {
		fmt.Fprintf(&b, "| %s |", a)
		for _, r := range roles {
			fmt.Fprintf(&b, " %s |", map[access.Scope]string{access.Nothing: "", access.Own: "own", access.All: "yes"}[access.Of(r, a)])
		}
		fmt.Fprintf(&b, " %s |\n", strings.Join(calls(a), ", "))
	}
	return b.String()
}

// calls returns the methods and pages that are an action.
func calls(a access.Action) (list []string) {
	for _, s := range []string{
		access.IdentityService, access.SchedulerService, access.ApplicationService, access.MasterService, access.NodeMonitorService,
		access.ExecutorService, access.PeerService,
	} {
		for _, m := range access.Methods(s) {
			if known, _ := access.Method(s, m); known == a {
				list = append(list, fmt.Sprintf("`%s.%s`", strings.TrimSuffix(s, "Service"), m))
			}
		}
	}
	for _, p := range access.Pages() {
		if known, _ := access.Page(p); known == a {
			list = append(list, "`"+p+"`")
		}
	}
	return list
}
