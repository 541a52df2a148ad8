package frontend

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// tree is three groups: alice has taken more than her part of the team's, and the team more
// than its part; nothing of group 2 waits for her.
func tree() []api.GroupOwners {
	group := func(number int) api.GroupOwners {
		return api.GroupOwners{Group: number, Reachable: true, Fair: true, Slots: 4, Owners: []api.OwnerShare{
			{Owner: "", Weight: 1, Entitled: 4, RunningShort: 4, QueuedShort: 109},
			{Owner: "batch", Weight: 1, Entitled: 1, QueuedLong: 7, LeadLong: 3},
			{Owner: "carol", Weight: 1, Entitled: 1, RunningShort: 1, QueuedShort: 2},
			{Owner: "dave", Weight: 4, Entitled: 2, QueuedShort: 3, QueuedLong: 6, LeadShort: 9},
			{Owner: "team", Weight: 2, Entitled: 2, RunningShort: 3, QueuedShort: 104, UsedShort: 30, LeadShort: 2.5},
			{Owner: "team/alice", Weight: 1, Entitled: 1, RunningShort: 2, QueuedShort: 100, UsedShort: 20, UsedLong: 1.5, LeadShort: 6},
			{Owner: "team/bob", Weight: 3, Entitled: 1, RunningShort: 1, QueuedShort: 4, UsedShort: 10, LeadShort: 0.5},
			{Owner: "team/zoe", Weight: 3, QueuedShort: 0},
		}}
	}
	return []api.GroupOwners{group(0), group(1), group(2)}
}

func explained(owner, class string, groups []api.GroupOwners, queued ...int) *api.Explanation {
	e := &api.Explanation{Status: api.Status{Owner: owner, Class: class}}
	var views []wire.JobView
	for g, n := range queued {
		views = append(views, wire.JobView{Share: api.GroupShare{Group: g, Reachable: true, Queued: n}})
	}
	explainShares(e, groups, views)
	return e
}

func names(list []api.OwnerShare) (names []string) {
	for i := range list {
		names = append(names, list[i].Owner)
	}
	return names
}

func TestExplainShares(t *testing.T) {
	for _, c := range []struct {
		name, owner, class string
		queued             []int
		levels, ahead      []string
		want               string
	}{
		{"waits in two groups", "team/alice", "short", []int{1, 5, 0}, []string{"team", "team/alice"}, []string{"carol", "team/bob"},
			`Its owner "team/alice" is entitled to 2.0 of 8 slots and has 4; it has used 40.0 s of slots for short tasks and 3.0 s for long ones. Owner "team" has used 5.0 s more than its share allows. ` +
				`Owner "team/alice" has used 12.0 s more than its share allows. 2 owners are served before it: "carol" (weight 1, 2 of 2.0 slots, 4 waiting), "team/bob" (weight 3, 2 of 2.0 slots, 8 waiting).`},
		{"the first", "carol", "short", []int{1}, []string{"carol"}, nil,
			`Its owner "carol" is entitled to 1.0 of 4 slots and has 1; it has used 0.0 s of slots for short tasks and 0.0 s for long ones. No other owner is served before it.`},
		{"another class", "team/alice", "long", []int{1}, []string{"team", "team/alice"}, nil,
			`Its owner "team/alice" is entitled to 1.0 of 4 slots and has 2; it has used 20.0 s of slots for short tasks and 1.5 s for long ones. No other owner is served before it.`},
		{"found to be long", "batch", "short", []int{1}, []string{"batch"}, []string{"dave"},
			`Its owner "batch" is entitled to 1.0 of 4 slots and has 0; it has used 0.0 s of slots for short tasks and 0.0 s for long ones. Owner "batch" has used 3.0 s more than its share allows. ` +
				`1 owner is served before it: "dave" (weight 4, 0 of 2.0 slots, 6 waiting).`},
		{"nothing waits", "carol", "short", []int{0, 0, 0}, []string{"carol"}, nil,
			`Its owner "carol" is entitled to 3.0 of 12 slots and has 3; it has used 0.0 s of slots for short tasks and 0.0 s for long ones.`},
		{"nobody in particular", "", "short", []int{1}, nil, nil, "Its owner is nobody in particular, which shares 4 slots with 4 owners."},
		{"unknown to the masters", "new", "short", []int{1}, nil, nil, `Its owner is "new", which shares 4 slots with 4 owners.`},
	} {
		e := explained(c.owner, c.class, tree(), c.queued...)
		if got := strings.Join(e.Why, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if !reflect.DeepEqual(names(e.Owners), c.levels) || !reflect.DeepEqual(names(e.Ahead), c.ahead) {
			t.Errorf("%s: levels %q, ahead %q", c.name, names(e.Owners), names(e.Ahead))
		}
	}
}

func TestExplainMax(t *testing.T) {
	groups := tree()[:1]
	groups[0].Owners[4].Max = 0.75 // of 4 slots: the 3 that the team has
	if e := explained("team/bob", "short", groups, 1); !strings.Contains(strings.Join(e.Why, ""), `Owner "team" has as many slots as its max of 75% allows`) {
		t.Errorf("%q", e.Why)
	}
	alone := []api.GroupOwners{{Reachable: true, Fair: true, Slots: 4, Owners: []api.OwnerShare{
		{Owner: "", RunningShort: 2, QueuedShort: 2}, {Owner: "news", RunningShort: 2, QueuedShort: 2, Max: 0.5},
	}}}
	for queued, want := range map[int]bool{2: true, 0: false} {
		e := explained("news", "short", alone, queued)
		if got := strings.Contains(strings.Join(e.Why, ""), `Owner "news" has as many slots as its max of 50% allows`); got != want || (len(e.Owners) == 1) != want {
			t.Errorf("alone, with %d tasks that wait: %q, %+v", queued, e.Why, e.Owners)
		}
	}
}

// A max counts in each group by itself, and holds for one worker at least. An owner that is at its
// max is served before nobody, one with less than its min before the others.
func TestExplainLimits(t *testing.T) {
	news := func(most float64, running int) api.OwnerShare {
		return api.OwnerShare{Owner: "news", Weight: 1, Max: most, RunningShort: running, QueuedShort: 5, LeadShort: 4}
	}
	group := func(number int, owners ...api.OwnerShare) api.GroupOwners {
		return api.GroupOwners{Group: number, Reachable: true, Fair: true, Slots: 10, Owners: append([]api.OwnerShare{{RunningShort: 10, QueuedShort: 20}}, owners...)}
	}
	capped := api.OwnerShare{Owner: "capped", Weight: 1, Max: 0.5, RunningShort: 5, QueuedShort: 5}
	promised := api.OwnerShare{Owner: "promised", Weight: 1, Min: 0.25, RunningShort: 2, QueuedShort: 5, LeadShort: 9}
	const max10, max25, max50 = `"news" has as many slots as its max of 10% allows: more`, `"news" has as many slots as its max of 25% allows: more`, `"news" has as many slots as its max of 50% allows: more`
	for _, c := range []struct {
		name       string
		groups     []api.GroupOwners
		want, none string
	}{
		{"one worker, and none runs", []api.GroupOwners{group(0, news(0.1, 0), promised)}, "1 owner is served before it", "its max"},
		{"one worker", []api.GroupOwners{group(0, news(0.1, 1), promised)}, max10, "served before it"},
		{"one less", []api.GroupOwners{group(0, news(0.5, 4), promised)}, "1 owner is served before it", "its max"},
		{"as many", []api.GroupOwners{group(0, news(0.5, 5), promised)}, max50, "served before it"},
		{"2 of 2.5 in each group", []api.GroupOwners{group(0, news(0.25, 2), promised), group(1, news(0.25, 2), promised)}, max25, "served before it"},
		{"in one group", []api.GroupOwners{group(0, news(0.25, 2), promised), group(1, news(0.25, 1), promised)}, `In 1 of the 2 groups where its tasks wait, owner "news" has as many slots as its max of 25% allows.`, ": more"},
		{"the other is at its max", []api.GroupOwners{group(0, news(0, 1), capped)}, "No other owner is served before it.", "capped"},
		{"the other has less than its min", []api.GroupOwners{group(0, news(0, 1), promised)}, `1 owner is served before it: "promised"`, "No other"},
	} {
		queued := []int{1, 1}[:len(c.groups)]
		got := strings.Join(explained("news", "short", c.groups, queued...).Why, "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.none) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestExplainOneOwner: where there is one owner, and where shares do not count, the
// explanation does not mention shares.
func TestExplainOneOwner(t *testing.T) {
	alone := []api.GroupOwners{{Reachable: true, Fair: true, Slots: 4, Owners: []api.OwnerShare{
		{Owner: "", RunningShort: 4, QueuedShort: 9}, {Owner: "a", RunningShort: 4, QueuedShort: 9}, {Owner: "a/b", RunningShort: 4, QueuedShort: 9},
	}}}
	for name, c := range map[string]struct {
		owner  string
		groups []api.GroupOwners
	}{
		"one owner": {"a/b", alone}, "one owner, of the whole": {"", []api.GroupOwners{{Reachable: true, Fair: true, Owners: []api.OwnerShare{{QueuedShort: 9}}}}},
		"no shares": {"a", []api.GroupOwners{{Reachable: true}}}, "no answer": {"a", []api.GroupOwners{{}}}, "no groups": {"a", nil},
	} {
		if e := explained(c.owner, "short", c.groups, 3); len(e.Why)+len(e.Owners)+len(e.Ahead) != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
