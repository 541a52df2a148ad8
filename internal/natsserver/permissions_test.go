package natsserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// matches reports whether a subject is one of those of a pattern.
func matches(pattern, subject string) bool {
	want, have := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, w := range want {
		if w == ">" {
			return len(have) > i
		}
		if i >= len(have) || w != "*" && w != have[i] {
			return false
		}
	}
	return len(want) == len(have)
}

func may(patterns []string, subject string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, subject) })
}

func allowed(t *rapid.T, role identity.Role, name string) Permissions {
	p, ok := PermissionsOf("c", identity.Principal{Role: role, Name: name})
	if !ok {
		t.Fatalf("%s %q is not admitted", role, name)
	}
	return p
}

// Neither of two daemons publishes under the other's name, and neither reads what is meant for
// the other.
func TestNobodySpeaksForAnother(t *testing.T) {
	name := rapid.OneOf(rapid.StringMatching(`[a-z0-9.*> =_-]{1,8}`), rapid.StringN(1, 128, 128))
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if a == b || a == notice.Anyone || b == notice.Anyone {
			return
		}
		node, frontend, master := allowed(t, identity.Node, a), allowed(t, identity.Frontend, a), allowed(t, identity.Master, a)
		group := rapid.IntRange(0, 99).Draw(t, "group")
		for _, mine := range []string{notice.IdleSubject("c", group, a), notice.ReportSubject("c", b, a)} {
			if !may(node.Publish, mine) {
				t.Fatalf("node %q may not publish to %s", a, mine)
			}
		}
		for _, others := range []string{
			notice.IdleSubject("c", group, b), notice.ReportSubject("c", b, b), notice.ReportSubject("c", b, ""), notice.IdleSubject("c", group, ""),
			notice.AckSubject("c", b), notice.AckSubject("c", a), notice.AnnouncementSubject("c"), notice.WaitingSubject("c", group), "$JS.API.INFO", notice.IdleSubject("other", group, a),
		} {
			if may(node.Publish, others) {
				t.Fatalf("node %q may publish to %s", a, others)
			}
		}
		for _, others := range []string{notice.AckSubject("c", b), notice.ReportSubject("c", b, a), notice.ReportSubject("c", a, a), notice.IdleSubject("c", group, a), "_INBOX.x"} {
			if may(node.Subscribe, others) {
				t.Fatalf("node %q may read %s", a, others)
			}
		}
		if !may(frontend.Subscribe, notice.ReportSubject("c", a, b)) || may(frontend.Subscribe, notice.ReportSubject("c", b, a)) {
			t.Fatalf("frontend %q does not read its own reports only", a)
		}
		if may(frontend.Publish, notice.ReportSubject("c", a, a)) || may(master.Publish, notice.ReportSubject("c", b, a)) || may(master.Publish, notice.AckSubject("c", b)) {
			t.Fatal("a daemon other than a node reports, or one other than a frontend acknowledges")
		}
		if may(frontend.Publish, "$KV.pigeon-c-leadership."+notice.Token("frontend."+b)) || may(master.Publish, "$KV.pigeon-c-leadership."+notice.Token("master."+b)) {
			t.Fatal("a daemon may acquire the leadership of another name")
		}
	})
}

// People, and daemons without a name, are not admitted.
func TestWhoIsNotAdmitted(t *testing.T) {
	for _, p := range []identity.Principal{{}, {Role: identity.Admin, Name: "ann"}, {Role: identity.Node}, {Role: identity.Nobody, Name: "n1"}} {
		if may, admitted := PermissionsOf("c", p); admitted || len(may.Publish)+len(may.Subscribe) > 0 {
			t.Errorf("%v is admitted", p)
		}
	}
}

// No daemon may delete a stream, or ask for more than is in the table.
func TestNoDaemonDeletes(t *testing.T) {
	for _, role := range identity.Daemons {
		p, _ := PermissionsOf("c", identity.Principal{Role: role, Name: "1"})
		for _, s := range []string{"$JS.API.STREAM.DELETE.KV_pigeon-c-leadership", "$JS.API.STREAM.DELETE.pigeon-c-journal-1", "$JS.API.STREAM.PURGE.KV_pigeon-c-keys", "$JS.API.STREAM.INFO.other", "$SYS.REQ.SERVER.PING", "pigeon.c.x", "x"} {
			if may(p.Publish, s) {
				t.Errorf("a %s may publish to %s", role, s)
			}
		}
	}
}

// No daemon may change the settings of a stream, of which the lifetime of leaderships would be one: every
// daemon could end all of them. Frontends alone may, of the bucket of keys.
func TestNoDaemonChangesAStream(t *testing.T) {
	for _, role := range identity.Daemons {
		p, _ := PermissionsOf("c", identity.Principal{Role: role, Name: "1"})
		for _, s := range []string{"KV_pigeon-c-leadership", "pigeon-c-journal-1", "OBJ_pigeon-c-snapshots", "KV_pigeon-c-keys"} {
			if got, want := may(p.Publish, "$JS.API.STREAM.UPDATE."+s), role == identity.Frontend && s == "KV_pigeon-c-keys"; got != want {
				t.Errorf("a %s may update %s: %v", role, s, got)
			}
		}
	}
}

// TestStreamsAreDocumented: docs/wire.md names each stream that a daemon may make in JetStream.
func TestStreamsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/wire.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What JetStream keeps\n")
	section, _, _ = strings.Cut(section, "\n## ")
	made := 0
	for _, p := range []identity.Principal{{Role: identity.Frontend, Name: "FRONTEND"}, {Role: identity.Master, Name: "0"}, {Role: identity.Node, Name: "n"}} {
		may, _ := PermissionsOf("CLUSTER", p)
		for _, subject := range may.Publish {
			stream, ok := strings.CutPrefix(subject, "$JS.API.STREAM.CREATE.")
			if !ok {
				continue
			}
			made++
			if name := strings.TrimPrefix(strings.TrimPrefix(stream, "KV_"), "OBJ_"); !strings.Contains(section, "`"+name+"`") {
				t.Errorf("docs/wire.md does not name %s, which a %s keeps in the stream %s", name, p.Role, stream)
			}
		}
	}
	if made < 5 {
		t.Errorf("%d streams were found", made)
	}
}
