package main

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// TestOwners: the owner of a job can be given in many ways and is shown in all places.
func TestOwners(t *testing.T) {
	b, line := runDev(t, "--groups", "1", "--nodes", "2", "--slots", "2")
	defer b.stop()
	t.Run("shown", testOwnerShown)
	t.Run("settings", testOwnerSettings)
	t.Run("selection", testOwnerSelection)
	t.Run("keys", testOwnerKeys)
	t.Run("mistakes", testOwnerMistakes)
	t.Run("published", func(c *testing.T) { testPublishedOwners(c, t, line) })
}

func testOwnerShown(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	job := succeed(t, "submit", "--key", "shown", "--owner", "team/alice", "--priority", "-5", "--name", "nightly build", "--",
		"sh", "-c", "while ! [ -e "+gate+" ]; do sleep 0.01; done")
	if s := statusOfJob(t, job); s.Owner != "team/alice" || s.Priority != -5 || s.Name != "nightly build" {
		t.Errorf("%+v", s)
	}
	if text := succeed(t, "status", job); !strings.Contains(text, "team/alice") || !strings.Contains(text, "nightly build") || !strings.Contains(text, "-5") {
		t.Errorf("status prints\n%s", text)
	}
	if text := succeed(t, "status"); !strings.Contains(text, "OWNER") || !strings.Contains(text, "team/alice") {
		t.Errorf("status prints\n%s", text)
	}
	if text := succeed(t, "explain", job); !strings.Contains(text, "It runs for team/alice, with priority -5 among the jobs of that owner.") {
		t.Errorf("explain prints\n%s", text)
	}
	// Nodes report it once a second.
	await.Until(t, "the owner at the node", func() bool {
		return slices.ContainsFunc(lines[api.Node](t, succeed(t, "nodes", "-o", "json")), func(n api.Node) bool { return slices.Equal(n.Owners, []string{"team/alice"}) })
	})
	if text := succeed(t, "nodes"); !strings.Contains(text, "OWNERS") || !strings.Contains(text, "team/alice") {
		t.Errorf("nodes prints\n%s", text)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "its end", func() bool { return statusOfJob(t, job).State == api.StateCompleted })
	if s := statusOfJob(t, job); s.Owner != "team/alice" || s.Priority != -5 || s.Name != "nightly build" {
		t.Errorf("at its end: %+v", s)
	}
	await.Until(t, "nothing at the nodes", func() bool {
		return !slices.ContainsFunc(lines[api.Node](t, succeed(t, "nodes", "-o", "json")), func(n api.Node) bool { return n.Owners != nil })
	})
}

// By default it is the calling user; else the flag, the environment or the file.
func testOwnerSettings(t *testing.T) {
	submit := func(flags ...string) string {
		return statusOfJob(t, succeed(t, append(append([]string{"submit"}, flags...), "--sleep", "1ms")...)).Owner
	}
	if u, err := user.Current(); err != nil {
		t.Fatal(err)
	} else if got := submit(); got != u.Username {
		t.Errorf("the owner is %q, want %q", got, u.Username)
	}
	file := filepath.Join(t.TempDir(), "client.yaml")
	if err := os.WriteFile(file, []byte("owner: from/file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := submit("--config", file); got != "from/file" {
		t.Errorf("the owner is %q", got)
	}
	if text := succeed(t, "nodes", "--config", file); !strings.Contains(text, "NODE") {
		t.Errorf("a verb that submits nothing: %s", text)
	}
	t.Setenv("PIGEON_OWNER", "from/environment")
	if got := submit("--config", file); got != "from/environment" {
		t.Errorf("the owner is %q", got)
	}
	if got := submit("--owner", "from/flag"); got != "from/flag" {
		t.Errorf("the owner is %q", got)
	}
	// The setting selects no jobs.
	if list := lines[api.Status](t, succeed(t, "status", "-o", "json")); !slices.ContainsFunc(list, func(s api.Status) bool { return s.Owner == "from/file" }) {
		t.Errorf("%+v", list)
	}
}

func testOwnerSelection(t *testing.T) {
	for _, owner := range []string{"sel", "sel/ann", "sel/bob", "select"} {
		succeed(t, "submit", "--owner", owner, "--sleep", "1ms")
	}
	for filter, want := range map[string][]string{"sel": {"sel", "sel/ann", "sel/bob"}, "sel/ann": {"sel/ann"}, "se": nil} {
		var got []string
		for _, s := range lines[api.Status](t, succeed(t, "status", "--owner", filter, "-o", "json")) {
			got = append(got, s.Owner)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("status --owner %s shows jobs of %q, want %q", filter, got, want)
		}
	}
	if got := lines[api.Status](t, succeed(t, "status", "--owner", "sel", "--limit", "1", "-o", "json")); len(got) != 1 || got[0].Owner != "sel/bob" {
		t.Errorf("the newest: %+v", got)
	}
}

// A job under a known key is the same job only for the same owner, with the same priority
// and name.
func testOwnerKeys(t *testing.T) {
	job := []string{"submit", "--key", "whose", "--sleep", "1ms", "--wait"}
	said := []string{"--owner", "team/ann", "--priority", "3", "--name", "n"}
	succeed(t, append(job, said...)...)
	succeed(t, append(job, said...)...)
	for _, c := range [][]string{{"--priority", "3", "--name", "n"}, {"--owner", "team/bob", "--priority", "3", "--name", "n"}, {"--owner", "team/ann", "--name", "n"}, {"--owner", "team/ann", "--priority", "3"}} {
		if code, _, errs := program(t, append(job, c...)...); code == cli.ExitDone || !strings.Contains(errs, "whose") {
			t.Errorf("%q: status %d, %s", c, code, errs)
		}
	}
	succeed(t, "submit", "--key", "whose2", "--owner", "team/ann", "--sleep", "1h")
	if code, _, errs := program(t, "submit", "--key", "whose2", "--owner", "team/bob", "--sleep", "1h"); code == cli.ExitDone || !strings.Contains(errs, `its owner is "team/bob" instead of "team/ann"`) {
		t.Errorf("status %d, %s", code, errs)
	}
	succeed(t, "cancel", "whose2")
}

func testOwnerMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"submit", "--owner", "team//alice", "--sleep", "1s"}, `"team//alice"`},
		{[]string{"run", "--owner", " alice", "--", "true"}, "a space at an end of level 1"},
		{[]string{"submit", "--owner", "a\x1b[31mb", "--sleep", "1s"}, "a control character"},
		{[]string{"submit", "--owner", "\xff", "--sleep", "1s"}, "not valid UTF-8"},
		{[]string{"submit", "--owner", strings.Repeat("a/", 999) + "a", "--sleep", "1s"}, "1999 bytes, more than the limit of 255"},
		{[]string{"submit", "--owner", strings.Repeat("a", 1<<20), "--sleep", "1s"}, "1048576 bytes, more than the limit of 255"},
		{[]string{"submit", "--name", strings.Repeat("a", 1<<20), "--sleep", "1s"}, "1048576 bytes, more than the limit of 256"},
		{[]string{"submit", "--name", "a\x00b", "--sleep", "1s"}, "a control character"},
		{[]string{"submit", "--priority", "99999999999", "--sleep", "1s"}, "use a whole number from -2147483648 to 2147483647"},
		{[]string{"submit", "--priority", "high", "--sleep", "1s"}, "that is no priority"},
		{[]string{"status", "--owner", "team/"}, `"team/"`},
		{[]string{"status", "--owner", "team", "whose"}, "leave one out"},
	} {
		code, out, errs := program(t, c.args...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || len(errs) > 4000 {
			t.Errorf("pigeon %.60q: status %d, %q, %.1000s", c.args, code, out, errs)
		}
	}
	t.Setenv("PIGEON_OWNER", "a//b")
	if code, _, errs := program(t, "submit", "--sleep", "1s"); code != cli.ExitUsage || !strings.Contains(errs, "PIGEON_OWNER") || !strings.Contains(errs, "level 2 is empty") {
		t.Errorf("status %d, %s", code, errs)
	}
}

// The user and the group of published clients are an owner, whatever they are; an owner
// that a client of ours states must be right.
func testPublishedOwners(t, cluster *testing.T, line dev.Line) {
	c := published.NewSchedulerServiceClient(dialThrift(cluster, line.Frontends[0]))
	submit := func(key string, user *published.TUserGroupInfo, owner string, priority *int32) error {
		_, err := c.Submit(context.Background(), &published.TSchedulingRequest{
			User: user, IdempotencyKey: key, Backend: "sleep", Owner: owner, Priority: priority, Tasks: []*published.TTaskSpec{{TaskId: "0"}},
		})
		return err
	}
	nine := int32(9)
	for i, c := range []struct {
		user     *published.TUserGroupInfo
		owner    string
		priority *int32
		want     string
		wantP    int32
	}{
		{nil, "", nil, "", 0},
		{&published.TUserGroupInfo{User: "alice", Group: "team", Priority: 7}, "", nil, "team/alice", 7},
		{&published.TUserGroupInfo{User: "alice", Group: "team", Priority: 7}, "x/y", &nine, "x/y", 9},
		{&published.TUserGroupInfo{User: "alice", Group: "dept/team"}, "", nil, "dept/team/alice", 0},
		{&published.TUserGroupInfo{User: "a/b\n", Group: strings.Repeat("g/", 100)}, "", nil, "g/g/g/g/g/g/g/a_b", 0},
		{&published.TUserGroupInfo{User: "\xff", Group: " "}, "", nil, "_", 0},
	} {
		key := "published-" + strconv.Itoa(i)
		if err := submit(key, c.user, c.owner, c.priority); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if s := statusOfJob(t, key); s.Owner != c.want || s.Priority != c.wantP {
			t.Errorf("%+v: the owner is %q with priority %d", c, s.Owner, s.Priority)
		}
	}
	for owner, want := range map[string]string{
		"team//alice": "level 2 is empty", strings.Repeat("a/", 999) + "a": "1999 bytes", strings.Repeat("a", 1<<20): "1048576 bytes", "\xff": "not valid UTF-8",
	} {
		err := submit("refused", nil, owner, nil)
		e, ok := err.(*published.TPigeonException) //nolint:errorlint // the library returns it as it is
		if !ok || !strings.Contains(e.What, want) || e.Subject == "" || e.Tried == "" || e.Advice == "" || e.Problem != int32(api.Invalid) {
			t.Errorf("owner %.40q: %.500v", owner, err)
		}
	}
}
