package api_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// oddOwners are paths that cannot be owners, with a part of the refusal.
var oddOwners = map[string]string{
	"/":                        "level 1 is empty",
	"team/":                    "level 2 is empty",
	"/alice":                   "level 1 is empty",
	"team//alice":              "level 2 is empty",
	"team/ alice":              "a space at an end of level 2",
	"team /alice":              "a space at an end of level 1",
	"team/\u00a0alice":         "a space at an end of level 2",
	" ":                        "a space at an end of level 1",
	"team\n":                   "a control character",
	"te\x00am":                 "a control character",
	"te\u0085am":               "a control character",
	"te\xffam":                 "not valid UTF-8",
	"\xed\xa0\x80":             "not valid UTF-8",
	"1/2/3/4/5/6/7/8/9":        "9 levels, more than the limit of 8",
	levels(1000):               "1999 bytes, more than the limit of 255",
	strings.Repeat("a", 256):   "256 bytes, more than the limit of 255",
	strings.Repeat("a", 1<<20): "1048576 bytes, more than the limit of 255",
}

func levels(n int) string { return strings.TrimSuffix(strings.Repeat("a/", n), "/") }

func TestCheckOwner(t *testing.T) {
	for _, right := range []string{"", "alice", "team/alice", "1/2/3/4/5/6/7/8", "Ärzte/Ω mega", "a.b-c_d@e:f", "..", "*", strings.Repeat("a", 255)} {
		if err := api.CheckOwner(right); err != nil {
			t.Errorf("%q: %v", right, err)
		}
	}
	for wrong, want := range oddOwners {
		err := api.CheckOwner(wrong)
		checkError(t, wrong[:min(len(wrong), 40)], err, want)
		if len(err.Error()) > 400 {
			t.Errorf("the refusal has %d bytes: %.400s", len(err.Error()), err)
		}
	}
	var e *api.Error
	if err := api.CheckOwner("team//alice"); !errors.As(err, &e) || e.Subject != `owner "team//alice"` {
		t.Errorf("%v does not name the path", err)
	}
}

func TestOwnerOf(t *testing.T) {
	for _, c := range []struct{ explicit, group, user, want string }{
		{"", "", "", ""},
		{"", "", "alice", "alice"},
		{"", "team", "", "team"},
		{"", "team", "alice", "team/alice"},
		{"other/bob", "team", "alice", "other/bob"},
		{"a//b", "team", "alice", "a//b"}, // CheckOwner refuses it
		{"", "dept/team", "alice", "dept/team/alice"},
		{"", "/dept//team/", "alice", "dept/team/alice"},
		{"", "team", "a/b", "team/a_b"},
		{"", "te\nam", "al\xffice", "te_am/al_ice"},
		{"", " team ", "\talice ", "team/alice"},
		{"", "  ", "/", "_"},
		{"", "1/2/3/4/5/6/7/8/9", "alice", "1/2/3/4/5/6/7/alice"},
		{"", "1/2/3/4/5/6/7/8/9", "", "1/2/3/4/5/6/7/8"},
		{"", strings.Repeat("g", 256), "alice", strings.Repeat("g", 249) + "/alice"},
		{"", "", strings.Repeat("u", 256), strings.Repeat("u", 127)},
		{"", "", strings.Repeat("ä", 100), strings.Repeat("ä", 63)},
	} {
		if got := api.OwnerOf(c.explicit, c.group, c.user); got != c.want {
			t.Errorf("OwnerOf(%q, %q, %q) = %q, want %q", c.explicit, c.group, c.user, got, c.want)
		}
	}
}

// Whatever group and user a published client states, it is served: a derived owner is
// always valid.
func TestDerivedOwnersAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a/ ]{0,40}`), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 400), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]rune{'a', '/', ' ', 'ä', '\n', utf8.RuneError}), 0, 400), func(r []rune) string { return string(r) }))
		group, user := odd.Draw(t, "group"), odd.Draw(t, "user")
		owner := api.OwnerOf("", group, user)
		if err := api.CheckOwner(owner); err != nil {
			t.Fatal(err)
		}
		if again := api.OwnerOf("", group, user); again != owner {
			t.Fatalf("%q, then %q", owner, again)
		}
		if user != "" && strings.TrimSpace(user) != "" && owner == "" {
			t.Fatalf("user %q of group %q is nobody", user, group)
		}
	})
}

func TestIsBelow(t *testing.T) {
	for _, c := range []struct {
		owner, path string
		want        bool
	}{
		{"", "", true}, {"team", "", true}, {"team", "team", true}, {"team/alice", "team", true}, {"teams", "team", false},
		{"team", "team/alice", false}, {"", "team", false}, {"x/team", "team", false},
	} {
		if got := api.IsBelow(c.owner, c.path); got != c.want {
			t.Errorf("IsBelow(%q, %q) = %t", c.owner, c.path, got)
		}
	}
}
