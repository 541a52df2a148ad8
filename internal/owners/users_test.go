package owners_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/owners"
)

func TestMayName(t *testing.T) {
	q := owners.Quotas{Users: []owners.User{{Owner: "team", User: "alice"}, {Owner: "lab/x", User: "alice"}, {Owner: "team", User: "bob"}}}
	users := q.ByUser()
	for _, c := range []struct {
		user, owner string
		may         bool
	}{
		{"alice", "alice", true}, {"alice", "alice/nightly", true}, {"alice", "team", true}, {"alice", "team/bob", true},
		{"alice", "lab/x/y", true}, {"alice", "lab", false}, {"alice", "bob", false}, {"alice", "teams", false},
		{"carol", "team/carol", false}, {"carol", "carol", true}, {"", "", false}, {"", "team", false}, {"carol", "", false},
		{"a/b", "a_b", true}, {"a/b", "a/b", false},
	} {
		if got := users.MayName(c.user, c.owner); got != c.may {
			t.Errorf("%q may name %q: %v", c.user, c.owner, got)
		}
	}
	if owners.Users(nil).MayName("mallory", "made-up/mallory") {
		t.Error("a made-up group is a share of its own")
	}
}

func TestUsersFault(t *testing.T) {
	for text, entry := range map[string]owners.User{"entry 1 names no owner": {User: "a"}, "names no user": {Owner: "team"}, "b//c": {Owner: "b//c", User: "a"}} {
		if q := (owners.Quotas{Users: []owners.User{entry}}); !strings.Contains(q.UsersFault(), text) {
			t.Errorf("%+v: %q", entry, q.UsersFault())
		}
	}
	if q := (owners.Quotas{Users: make([]owners.User, owners.MaxQuotas+1)}); !strings.Contains(q.UsersFault(), "10000") {
		t.Error(q.UsersFault())
	}
}
