package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A screen of any height and width is filled with lines, and shows how many are left out.
func TestTopFitsTheScreen(t *testing.T) {
	page := &TopPage{at: time.Unix(0, 0), ByOwner: true, Slots: 4000, Busy: 3000, Owners: []api.OwnerShare{{}}}
	page.add(&api.MasterState{Group: 7, Epoch: 1, QueuedLong: 3, OldestLong: 2.5, Nodes: []api.Node{{ID: "lost-one", State: api.StateLost, Slots: 4}}})
	page.add(&api.MasterState{Group: 8})
	for i := range 500 {
		page.Nodes = append(page.Nodes, topNode{Node: fmt.Sprintf("node-%03d", i), State: api.StateUp, Slots: 8, Busy: i % 9})
		page.Owners = append(page.Owners, api.OwnerShare{Owner: fmt.Sprintf("owner-%03d\x1b[2J", i), RunningLong: 6})
	}
	for _, height := range []int{0, 1000, 60, 24, 16, 13, 12, 11, 10, 9, 3} {
		for _, width := range []int{200, 80, 20} {
			var out strings.Builder
			if err := page.print(&out, cli.Terminal{Width: width, Height: height}); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			n := strings.Count(text, "\n")
			if height >= 9 && n > height-1 || strings.Contains(text, "\x1b") {
				t.Errorf("%d lines on a screen of %d:\n%s", n, height, text)
			}
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
					t.Errorf("%d characters on a screen of %d: %q", n, width, line)
				}
			}
			if height == 10 && width >= 80 && !strings.Contains(text, "\nand 2 groups, 500 owners, 501 nodes\n") {
				t.Errorf("tables are left out, and not counted:\n%s", text)
			}
			if whole := height == 0; whole != strings.Contains(text, "node-499") {
				t.Errorf("a screen of %d lines has all nodes: %v", height, !whole)
			}
			if height == 60 && width >= 80 && (!strings.Contains(text, "more nodes") || !strings.Contains(text, "its master cannot be reached") || !strings.Contains(text, "more owners")) {
				t.Errorf("%s", text)
			}
		}
	}
}

// Slots of nodes that drain are counted, since tasks run there, and the help says so.
func TestTopCountsSlotsOfDrainingNodes(t *testing.T) {
	page := &TopPage{}
	page.add(&api.MasterState{Nodes: []api.Node{
		{ID: "up", Up: true, State: api.StateUp, Slots: 4, Busy: 1}, {ID: "draining", Up: true, State: api.StateDraining, Slots: 8, Busy: 2}, {ID: "drained", Up: true, State: api.StateDrained, Slots: 16},
	}})
	if page.Slots != 12 || page.Busy != 3 || page.Groups[0].Slots != 12 {
		t.Errorf("%+v", page)
	}
	if long := TopCommand().Long; !strings.Contains(strings.Join(strings.Fields(long), " "), "Slots are those of nodes that are up or draining") {
		t.Errorf("the help says %q", long)
	}
}

// Jobs are those that have not ended, the most running tasks first, as many as fit.
func TestTopShowsTheBusiestJobs(t *testing.T) {
	t.Parallel()
	found := []api.Status{
		{Job: "waits", State: api.StateQueued, Tasks: 9, Submitted: 5}, {Job: "over", State: api.StateCompleted, Tasks: 1, Running: 1},
		{Job: "some", State: api.StateRunning, Tasks: 9, Running: 2, Completed: 3, Failed: 1}, {Job: "most", Name: "n", Owner: "o", State: api.StateRunning, Tasks: 4, Running: 4},
		{Job: "some", State: api.StateQueued, Tasks: 9},
	}
	for i := range 2 * mostTopJobs {
		found = append(found, api.Status{Job: fmt.Sprintf("old-%03d", i), State: api.StateQueued, Tasks: 1})
	}
	page := &TopPage{at: time.Unix(0, 0), Jobs: busiestJobs(found)}
	if j := page.Jobs; len(j) != mostTopJobs || j[0] != (topJob{Job: "most", Name: "n", Owner: "o", State: api.StateRunning, Running: 4}) ||
		j[1] != (topJob{Job: "some", State: api.StateRunning, Running: 2, Queued: 3}) || j[2].Job != "waits" || j[2].Queued != 9 {
		t.Errorf("%d: %+v", len(j), j[:3])
	}
	var out strings.Builder
	if err := page.print(&out, cli.Terminal{Width: 80, Height: 16}); err != nil || strings.Count(out.String(), "\n") > 15 || !strings.Contains(out.String(), "\nand 198 more jobs\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A group whose master did not answer once, or was restarted, makes no launches of a second out of all
// that it has counted.
func TestTopLaunchRate(t *testing.T) {
	at := time.Unix(1000, 0)
	page := func(second int, counts ...int) *TopPage { // -1: no answer
		p := &TopPage{at: at.Add(time.Duration(second) * time.Second)}
		for g, n := range counts {
			s := api.MasterState{Group: g}
			if n >= 0 {
				s.Epoch, s.Launches = 1, uint64(n)
			}
			p.add(&s)
		}
		return p
	}
	for name, c := range map[string]struct {
		before, now *TopPage
		want        float64 // -1: none
	}{
		"the first":                     {nil, page(1, 5), -1},
		"both groups":                   {page(0, 10, 20), page(2, 14, 30), 7},
		"one does not answer":           {page(0, 1_000_000, 20), page(1, -1, 25), 5},
		"it answers again":              {page(0, -1, 20), page(1, 1_000_000, 25), 5},
		"none answers":                  {page(0, 10), page(1, -1), -1},
		"one was restarted":             {page(0, 10, 20), page(1, 3, 120), 100},
		"nothing is launched":           {page(0, 10), page(1, 10), 0},
		"a group that was not there":    {page(0, 10), page(1, 10, 500), 0},
		"two pages of the same instant": {page(0, 10), page(0, 12), -1},
	} {
		got := -1.0
		if rate := c.now.rateSince(c.before); rate != nil {
			got = *rate
		}
		if got != c.want {
			t.Errorf("%s: %v a second, want %v", name, got, c.want)
		}
	}
}

func TestSlotsBar(t *testing.T) {
	for want, c := range map[string][2]int{
		"[....................]": {0, 4}, "[#...................]": {1, 1000}, "[##########..........]": {2, 4}, "[####################]": {9, 4},
	} {
		if got := slotsBar(c[0], c[1]); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}
