package quotas_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/owners"
)

// TestCheck: a quota bounds an owner with all owners below it, the refusal names the owner
// of the quota, how much is used and its holders.
func TestCheck(t *testing.T) {
	table := quotas.New()
	table.Set(owners.Quotas{
		Quotas:       []owners.Quota{{Owner: "team", Tasks: 100}, {Owner: "team/bob", Tasks: 10, Bytes: 1000}, {Owner: "batch", Bytes: 500}},
		DefaultTasks: 50,
	})
	held := map[string]*quotas.Holding{}
	for _, h := range []struct {
		owner string
		tasks int
	}{{"team/alice", 45}, {"team/carol/x", 30}, {"team/dave", 12}, {"team/eve", 3}, {"zoe", 49}, {"", 50}} {
		held[h.owner] = table.Add(h.owner, h.tasks, int64(h.tasks))
	}
	for _, c := range []struct {
		owner string
		tasks int
		bytes int64
		want  string // "" when no quota is exceeded
		never bool
		key   string
	}{
		{"team/bob", 10, 1000, "", false, ""},
		{"team/bob", 11, 0, `its 11 tasks would pass the quota of owner "team", 100 tasks (quotas), of which 90 are used: ` +
			`45 by owner "team/alice", 30 by owner "team/carol/x", 12 by owner "team/dave" and the rest by 1 other owner`, false, "quotas"},
		{"team/bob", 101, 0, `its 101 tasks would pass the quota of owner "team"`, true, "quotas"},
		{"team/bob", 1, 1001, `its 1001 bytes would pass the quota of owner "team/bob", 1000 bytes (quotas), of which 0 are used`, true, "quotas"},
		{"team", 11, 0, `the quota of owner "team"`, false, "quotas"},
		{"team/alice", 6, 0, `its 6 tasks would pass the quota of owner "team/alice", 50 tasks (default_tasks), of which 45 are used: 45 by owner "team/alice"`, false, "default_tasks"},
		{"team/carol", 10, 0, "", false, ""}, // the default applies to her own jobs
		{"teams", 50, 0, "", false, ""},
		{"zoe", 2, 0, `the quota of owner "zoe", 50 tasks (default_tasks), of which 49 are used: 49 by owner "zoe"`, false, "default_tasks"},
		{"", 1, 0, `the quota of nobody in particular, 50 tasks (default_tasks), of which 50 are used: 50 by nobody in particular`, false, "default_tasks"},
		{"batch/x", 50, 500, "", false, ""},
		{"batch/x", 1, 501, `its 501 bytes would pass the quota of owner "batch", 500 bytes (quotas)`, true, "quotas"},
		{"new", 50, 1 << 40, "", false, ""},
	} {
		e := table.Check(c.owner, c.tasks, c.bytes)
		switch {
		case (e == nil) != (c.want == ""):
			t.Errorf("%d tasks and %d bytes of %q: %+v", c.tasks, c.bytes, c.owner, e)
		case e != nil && (!strings.HasPrefix(e.What, c.want) && !strings.HasSuffix(e.What, c.want) && !strings.Contains(e.What, c.want) || e.Never != c.never || e.Key != c.key):
			t.Errorf("%d tasks and %d bytes of %q: %+v, want %q", c.tasks, c.bytes, c.owner, e, c.want)
		}
	}
	for range 5 {
		held["team/alice"].TaskEnded()
	}
	if e := table.Check("team/bob", 10, 0); e != nil {
		t.Errorf("after the end of 5 tasks: %+v", e)
	}
	held["team/alice"].Release()
	held["team/alice"].Release()
	held["team/alice"].TaskEnded()
	want := []api.QuotaState{
		{Owner: "", Tasks: 50, MaxTasks: 50, Bytes: 50}, {Owner: "batch", MaxBytes: 500}, {Owner: "team", Tasks: 45, MaxTasks: 100, Bytes: 45},
		{Owner: "team/bob", MaxTasks: 10, MaxBytes: 1000}, {Owner: "team/carol/x", Tasks: 30, MaxTasks: 50, Bytes: 30},
		{Owner: "team/dave", Tasks: 12, MaxTasks: 50, Bytes: 12}, {Owner: "team/eve", Tasks: 3, MaxTasks: 50, Bytes: 3}, {Owner: "zoe", Tasks: 49, MaxTasks: 50, Bytes: 49},
	}
	if got := table.States(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestQuotasHold: whatever is added, ends and is released in whatever order, an owner has
// what its own jobs and those below it have, no job that Check accepted exceeds a quota,
// and nothing is left at the end.
func TestQuotasHold(t *testing.T) {
	paths := []string{"", "a", "a/b", "a/b/c", "a/d", "ab", "e/f"}
	rapid.Check(t, func(t *rapid.T) {
		table := quotas.New()
		table.Set(owners.Quotas{Quotas: []owners.Quota{{Owner: "a", Tasks: 20}, {Owner: "a/b", Bytes: 30}}, DefaultTasks: 15})
		type job struct {
			*quotas.Holding
			owner        string
			tasks, bytes int
		}
		var jobs []*job
		sum := func(path string, own bool) (tasks, bytes int) {
			for _, j := range jobs {
				if j.owner == path || !own && api.IsBelow(j.owner, path) {
					tasks, bytes = tasks+j.tasks, bytes+j.bytes
				}
			}
			return tasks, bytes
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				j := &job{owner: rapid.SampledFrom(paths).Draw(t, "owner"), tasks: rapid.IntRange(1, 10).Draw(t, "tasks"), bytes: rapid.IntRange(0, 20).Draw(t, "bytes")}
				if table.Check(j.owner, j.tasks, int64(j.bytes)) == nil {
					j.Holding = table.Add(j.owner, j.tasks, int64(j.bytes))
					jobs = append(jobs, j)
				}
			},
			"end": func(t *rapid.T) {
				if len(jobs) > 0 {
					j := rapid.SampledFrom(jobs).Draw(t, "job")
					j.TaskEnded()
					j.tasks = max(0, j.tasks-1)
				}
			},
			"release": func(t *rapid.T) {
				if len(jobs) > 0 {
					i := rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
					jobs[i].Release()
					jobs = append(jobs[:i], jobs[i+1:]...)
				}
			},
			"": func(t *rapid.T) {
				for _, path := range []string{"a", "a/b"} {
					tasks, bytes := sum(path, false)
					if tasks > 20 || path == "a/b" && bytes > 30 {
						t.Fatalf("%s has %d tasks and %d bytes", path, tasks, bytes)
					}
				}
				for _, s := range table.States() {
					if tasks, bytes := sum(s.Owner, s.Owner == ""); s.Tasks != tasks || s.Bytes != int64(bytes) {
						t.Fatalf("%+v, want %d tasks and %d bytes", s, tasks, bytes)
					}
				}
			},
		})
		for _, j := range jobs {
			j.Release()
		}
		if n := table.Owners(); n != 0 {
			t.Fatalf("%d owners are left", n)
		}
	})
}

func BenchmarkCheckAndAdd(b *testing.B) {
	table := quotas.New()
	table.Set(owners.Quotas{Quotas: []owners.Quota{{Owner: "team", Tasks: 1 << 30}}})
	for i := range 10_000 {
		table.Add(fmt.Sprintf("team/%d", i), 1, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		if table.Check("team/77", 10, 100) != nil {
			b.Fatal("refused")
		}
		h := table.Add("team/77", 10, 100)
		h.TaskEnded()
		h.Release()
	}
}
