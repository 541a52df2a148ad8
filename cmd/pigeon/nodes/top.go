package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/spf13/cobra"
)

// TopPage is what "pigeon top" shows.
type TopPage struct {
	Time         float64          `json:"time"`                   // of the client, in Unix seconds
	Slots        int              `json:"slots"`                  // of the nodes that are up or draining
	Busy         int              `json:"busy"`                   // slots that run a task
	Reserved     int              `json:"reserved"`               // slots that take short tasks only
	BusyReserved int              `json:"busy_reserved"`          // of these, those that run a task
	ByOwner      bool             `json:"by_owner"`               // whether the policy counts owners; without that there are no owners, and what runs is not counted by class
	RunningShort int              `json:"running_short"`          // slots that run short tasks
	RunningLong  int              `json:"running_long"`           // slots that run long tasks
	QueuedShort  int              `json:"queued_short"`           // short tasks in the queues of masters
	QueuedLong   int              `json:"queued_long"`            // long tasks there
	OldestShort  float64          `json:"oldest_short"`           // seconds that the oldest short task has waited there
	OldestLong   float64          `json:"oldest_long"`            // the same of the long tasks
	Launches     uint64           `json:"launches"`               // tasks that workers accepted, since their masters started
	Lost         uint64           `json:"lost"`                   // launches that were lost with their nodes
	Refused      uint64           `json:"refused"`                // launches that a worker refused
	LaunchRate   *float64         `json:"launch_rate,omitempty"`  // launches a second since the object before, of groups whose masters answered both times; left out in the first
	Owners       []api.OwnerShare `json:"owners"`                 // each after its parent, the whole first; summed over the groups
	Jobs         []topJob         `json:"jobs"`                   // those that have not ended, the most running tasks first; at most 200, the newest of those that run before others
	JobsMissing  bool             `json:"jobs_missing,omitempty"` // whether a frontend did not answer, whose jobs are left out
	Groups       []topGroup       `json:"groups"`                 // in their order
	Nodes        []topNode        `json:"nodes"`                  // those that are not up first, then the busiest
	at           time.Time        // of the answer
}

// mostTopJobs bounds the jobs of a page: a frontend may have a hundred thousand.
const mostTopJobs = 200

// topJob is a job that has not ended.
type topJob struct {
	Job     string    `json:"job"`             // its id
	Name    string    `json:"name,omitempty"`  // what the work is
	Owner   string    `json:"owner,omitempty"` // for whom it runs
	State   api.State `json:"state"`           // running, queued or held
	Running int       `json:"running"`         // tasks that run
	Queued  int       `json:"queued"`          // tasks that neither run nor have ended
}

// topGroup is one group.
type topGroup struct {
	Group       int     `json:"group"`        // its number
	Reachable   bool    `json:"reachable"`    // whether its master answered; without an answer all else is 0
	Slots       int     `json:"slots"`        // of its nodes that are up or draining
	Busy        int     `json:"busy"`         // slots that run a task
	QueuedShort int     `json:"queued_short"` // short tasks that wait
	QueuedLong  int     `json:"queued_long"`  // long tasks that wait
	OldestShort float64 `json:"oldest_short"` // seconds that the oldest short task has waited
	OldestLong  float64 `json:"oldest_long"`  // the same of the long tasks

	launches uint64 // that workers accepted, since its master started
}

// topNode is one node.
type topNode struct {
	Node   string   `json:"node"`             // its name
	Group  int      `json:"group"`            // number of its group
	State  string   `json:"state"`            // up, draining, drained, unreachable, lost or stopped
	Slots  int      `json:"slots"`            // tasks that it runs at a time
	Busy   int      `json:"busy"`             // slots that run a task
	Owners []string `json:"owners,omitempty"` // for whom tasks run there
}

// down is 1 for a node that is not up.
func (n *topNode) down() int {
	if n.State == api.StateUp {
		return 0
	}
	return 1
}

// TopCommand is the verb top.
func TopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "top",
		GroupID: cli.GroupWatch,
		Short:   "Show what the cluster does now: slots, queues, jobs, owners, nodes",
		Long: `Shows how many slots are busy, what runs and waits of each class and for how long the
oldest task has waited, the groups, the unfinished jobs with the most running tasks first,
the owners with what they have and wait for, the nodes, and how many tasks are launched a
second. Slots are those of nodes that are up or
draining: tasks run on both. On a terminal it is drawn again each second until Ctrl-C, and
lines that do not fit are counted; elsewhere one picture follows the other. With -o json,
one object for each.`,
		Example: "  pigeon top\n  pigeon top --once\n  pigeon top --every 5s -o json",
		Args:    cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	once := cmd.Flags().Bool("once", false, "show it once")
	every := cmd.Flags().Duration("every", time.Second, "interval between refreshes")
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *every < show.LeastEvery {
			return cli.AsUsageError(fmt.Errorf("--every %v is too often; use %v or more", *every, show.LeastEvery))
		}
		return connect.Ask(cmd, func(c *connect.Cluster) error {
			var before *TopPage
			draw := func(out io.Writer, screen cli.Terminal) error {
				page, err := readTop(cmd.Context(), c, before)
				if err != nil {
					return err
				}
				before = page
				if *output == cli.OutputJSON {
					return cli.WriteJSON(out, page)
				}
				return page.print(out, screen)
			}
			if *once {
				screen := show.ScreenOf(cmd)
				screen.Height = 0 // nothing is drawn over
				return draw(cmd.OutOrStdout(), screen)
			}
			return show.Redraw(cmd, *every, draw)
		})
	}
	return cmd
}

// readTop asks for what the cluster does now. before is the page before, nil for none.
func readTop(ctx context.Context, c *connect.Cluster, before *TopPage) (*TopPage, error) {
	states, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	if err := nobodyToAsk(states); err != nil {
		return nil, err
	}
	groups, shares, err := readShares(ctx, c)
	if err != nil && !client.HasProblem(err, api.Denied) { // without the right to see shares, all else is shown
		return nil, err
	}
	jobs, missing := topJobs(ctx, c)
	if missing != nil && ctx.Err() != nil {
		return nil, missing
	}
	page := &TopPage{at: time.Now(), Jobs: jobs, JobsMissing: missing != nil, Groups: []topGroup{}, Nodes: []topNode{}, Owners: shares.Owners, ByOwner: len(groups) > 0 && shares.Fair && len(shares.Owners) > 0}
	page.Time = float64(page.at.UnixMicro()) / 1e6
	if page.ByOwner {
		page.RunningShort, page.RunningLong = page.Owners[0].RunningShort, page.Owners[0].RunningLong
	}
	for i := range states {
		page.add(&states[i])
	}
	slices.SortStableFunc(page.Nodes, func(a, b topNode) int {
		return cmp.Or(cmp.Compare(b.down(), a.down()), cmp.Compare(b.Busy, a.Busy))
	})
	page.LaunchRate = page.rateSince(before)
	return page, nil
}

// topJobs returns the unfinished jobs of the frontends that answer, and what went wrong at others.
func topJobs(ctx context.Context, c *connect.Cluster) ([]topJob, error) {
	var found []api.Status
	err := c.Each(ctx, func(f *client.Frontend) error {
		room := mostTopJobs
		for _, states := range [][]string{{string(api.StateRunning)}, {string(api.StateQueued), string(api.StateHeld)}} {
			if room == 0 {
				break
			}
			some, err := show.ListOf(ctx, c, f, &show.JobQuery{Limit: room, Filter: api.JobFilter{States: states}})
			if err != nil {
				return err
			}
			found, room = append(found, some...), room-len(some)
		}
		return nil
	})
	return busiestJobs(found), err
}

// busiestJobs returns the jobs with the most running tasks first, and of equal ones the newest.
func busiestJobs(found []api.Status) []topJob {
	slices.SortStableFunc(found, func(a, b api.Status) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(b.Submitted, a.Submitted), strings.Compare(a.Job, b.Job))
	})
	list := []topJob{}
	for i := range found {
		// Its state may have changed between the two questions, and both answers then have it.
		if s := &found[i]; len(list) < mostTopJobs && !s.State.Ended() && !slices.ContainsFunc(list, func(j topJob) bool { return j.Job == s.Job }) {
			list = append(list, topJob{Job: s.Job, Name: s.Name, Owner: s.Owner, State: s.State, Running: s.Running, Queued: max(s.Tasks-s.Running-s.Completed-s.Failed, 0)})
		}
	}
	return list
}

// rateSince returns the launches a second since the page before, nil where they are not known. A
// group without a count, because its master did not answer, is left out, and so is one
// that has counted less since: its master was restarted.
func (p *TopPage) rateSince(before *TopPage) *float64 {
	if before == nil || !p.at.After(before.at) {
		return nil
	}
	was := map[int]uint64{}
	for _, g := range before.Groups {
		if g.Reachable {
			was[g.Group] = g.launches
		}
	}
	more, known := uint64(0), false
	for _, g := range p.Groups {
		if n, counted := was[g.Group]; counted && g.Reachable && g.launches >= n {
			more, known = more+g.launches-n, true
		}
	}
	if !known {
		return nil
	}
	rate := float64(more) / p.at.Sub(before.at).Seconds()
	return &rate
}

// add adds a group to the page.
func (p *TopPage) add(s *api.MasterState) {
	g := topGroup{Group: s.Group, Reachable: reached(s), QueuedShort: s.QueuedShort, QueuedLong: s.QueuedLong, OldestShort: s.OldestShort, OldestLong: s.OldestLong, launches: s.Launches}
	for _, n := range nodesOf(s) {
		state := stateOf(&n)
		p.Nodes = append(p.Nodes, topNode{Node: n.ID, Group: s.Group, State: state, Slots: n.Slots, Busy: n.Busy, Owners: n.Owners})
		if state == api.StateUp || state == api.StateDraining {
			g.Slots, g.Busy = g.Slots+n.Slots, g.Busy+n.Busy
			p.Reserved += n.Reserved
		}
	}
	p.Slots, p.Busy, p.BusyReserved = p.Slots+g.Slots, p.Busy+g.Busy, p.BusyReserved+s.BusyReserved
	p.QueuedShort, p.QueuedLong = p.QueuedShort+s.QueuedShort, p.QueuedLong+s.QueuedLong
	p.OldestShort, p.OldestLong = max(p.OldestShort, s.OldestShort), max(p.OldestLong, s.OldestLong)
	p.Launches, p.Lost, p.Refused = p.Launches+s.Launches, p.Lost+s.Lost, p.Refused+s.RefusedLaunch
	p.Groups = append(p.Groups, g)
}

// slotsBarWidth is that of a bar of slots, in characters.
const slotsBarWidth = 20

// slotsBar shows a part of a whole.
func slotsBar(part, whole int) string {
	full := 0
	if whole > 0 {
		full = min(max(part, 0)*slotsBarWidth/whole, slotsBarWidth)
		if part > 0 && full == 0 {
			full = 1
		}
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", slotsBarWidth-full) + "]"
}

// print prints the page, no more lines than the screen has.
func (p *TopPage) print(out io.Writer, screen cli.Terminal) error {
	up := 0
	for i := range p.Nodes {
		if p.Nodes[i].State == api.StateUp {
			up++
		}
	}
	rate := "-"
	if p.LaunchRate != nil {
		rate = fmt.Sprintf("%.1f a second", *p.LaunchRate)
	}
	missing := ""
	if p.JobsMissing {
		missing = "; a frontend does not answer, and its jobs are missing"
	}
	head := []string{
		fmt.Sprintf("pigeon top, %s: %s, %s, %d of them up%s", p.at.Format(time.TimeOnly), sched.Count(len(p.Groups), "group", "groups"), sched.Count(len(p.Nodes), "node", "nodes"), up, missing),
		fmt.Sprintf("slots %s %d of %d busy; of %d reserved for short tasks %d", slotsBar(p.Busy, p.Slots), p.Busy, p.Slots, p.Reserved, p.BusyReserved),
		fmt.Sprintf("launches %s; %d in all, %d lost, %d refused", rate, p.Launches, p.Lost, p.Refused), "",
	}
	for _, line := range head {
		if screen.Width > 0 {
			line = text.Shortened(line, screen.Width)
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("output could not be written: %w", err)
		}
	}
	left := screen.Height - len(head) - 3 - 1 - 1 // of the classes below, one that counts what is left out, and the last line stays empty
	classes := cli.FittedTable{Painted: -1, Columns: []cli.Column{{Head: "CLASS"}, {Head: "RUNNING"}, {Head: "WAITING"}, {Head: "OLDEST WAIT"}}}
	for _, c := range []struct {
		name            string
		running, queued int
		oldest          float64
	}{{"short", p.RunningShort, p.QueuedShort, p.OldestShort}, {"long", p.RunningLong, p.QueuedLong, p.OldestLong}} {
		running := "-"
		if p.ByOwner {
			running = fmt.Sprint(c.running)
		}
		classes.Add(cli.Plain, c.name, running, fmt.Sprint(c.queued), waitedFor(c.queued, c.oldest))
	}
	err := classes.Write(out, screen)
	tables := []cli.FittedTable{p.groupTable(), p.jobTable(), p.ownerTable(), p.nodeTable()}
	names := [][2]string{{"group", "groups"}, {"job", "jobs"}, {"owner", "owners"}, {"node", "nodes"}}
	var whole []string // the tables that are left out
	for i := range tables {
		room := len(tables[i].Rows) + 2
		if screen.Height > 0 {
			room = left
			if i < len(tables)-1 {
				room = max(left/2, left-len(tables[i+1].Rows)-2) // the next one has lines too
			}
		}
		rows := len(tables[i].Rows)
		lines := writeWithin(&tables[i], out, screen, room, names[i][1], &err)
		if left -= lines; lines == 0 && rows > 0 {
			whole = append(whole, sched.Count(rows, names[i][0], names[i][1]))
		}
	}
	if len(whole) > 0 && left >= 0 {
		line := "and " + strings.Join(whole, ", ")
		if screen.Width > 0 {
			line = text.Shortened(line, screen.Width)
		}
		_, failed := fmt.Fprintln(out, line)
		err = errors.Join(err, failed)
	}
	return err
}

// writeWithin prints a table below an empty line, as many rows of it as there is room for, and
// returns how many lines it printed.
func writeWithin(f *cli.FittedTable, out io.Writer, screen cli.Terminal, room int, name string, failed *error) int {
	if len(f.Rows) == 0 || room < 3 {
		return 0
	}
	more := 0
	if rows := room - 2; len(f.Rows) > rows {
		more = len(f.Rows) - (rows - 1)
		f.Rows = f.Rows[:rows-1]
	}
	_, err := fmt.Fprintln(out)
	*failed = errors.Join(*failed, err, f.Write(out, screen))
	lines := 2 + len(f.Rows)
	if more > 0 {
		_, err = fmt.Fprintf(out, "and %d more %s\n", more, name)
		*failed = errors.Join(*failed, err)
		lines++
	}
	return lines
}

// waitedFor returns how long the oldest of a number of tasks has waited.
func waitedFor(tasks int, seconds float64) string {
	if tasks == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f s", seconds)
}

func (p *TopPage) groupTable() cli.FittedTable {
	f := cli.FittedTable{Painted: 1, Columns: []cli.Column{{Head: "GROUP"}, {Head: "BUSY"}, {Head: "SLOTS", Leaves: 1}, {Head: "SHORT WAITING"}, {Head: "OLDEST", Leaves: 2}, {Head: "LONG WAITING"}, {Head: "OLDEST", Leaves: 3}}}
	for i := range p.Groups {
		g := &p.Groups[i]
		if !g.Reachable {
			f.Add(cli.Red, fmt.Sprint(g.Group), "its master cannot be reached", "", "", "", "", "")
			continue
		}
		f.Add(cli.Plain, fmt.Sprint(g.Group), fmt.Sprintf("%d/%d", g.Busy, g.Slots), slotsBar(g.Busy, g.Slots),
			fmt.Sprint(g.QueuedShort), waitedFor(g.QueuedShort, g.OldestShort), fmt.Sprint(g.QueuedLong), waitedFor(g.QueuedLong, g.OldestLong))
	}
	return f
}

func (p *TopPage) jobTable() cli.FittedTable {
	f := cli.FittedTable{Painted: 3, Columns: []cli.Column{{Head: "JOB", Least: 8}, {Head: "NAME", Least: 8, Leaves: 1}, {Head: "OWNER", Least: 8}, {Head: "STATE"}, {Head: "RUNNING"}, {Head: "QUEUED"}}}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		f.Add(show.StateColour(j.State), j.Job, cmp.Or(j.Name, "-"), cmp.Or(j.Owner, "-"), string(j.State), fmt.Sprint(j.Running), fmt.Sprint(j.Queued))
	}
	return f
}

func (p *TopPage) ownerTable() cli.FittedTable {
	f := cli.FittedTable{Painted: -1, Columns: []cli.Column{{Head: "OWNER", Least: 8}, {Head: "SHORT"}, {Head: "LONG"}, {Head: "SLOTS", Leaves: 1}, {Head: "ENTITLED", Leaves: 2}, {Head: "SHORT WAITING"}, {Head: "LONG WAITING"}}}
	if !p.ByOwner {
		return f
	}
	for i := range p.Owners {
		o := &p.Owners[i]
		if o.Owner == "" {
			continue // it is the classes above
		}
		f.Add(cli.Plain, o.Owner, fmt.Sprint(o.RunningShort), fmt.Sprint(o.RunningLong), slotsBar(o.RunningShort+o.RunningLong, p.Slots), fmt.Sprintf("%.1f", o.Entitled), fmt.Sprint(o.QueuedShort), fmt.Sprint(o.QueuedLong))
	}
	return f
}

func (p *TopPage) nodeTable() cli.FittedTable {
	f := cli.FittedTable{Painted: 2, Columns: []cli.Column{{Head: "NODE", Least: 12}, {Head: "GROUP", Leaves: 2}, {Head: "STATE"}, {Head: "BUSY"}, {Head: "SLOTS", Leaves: 1}, {Head: "OWNERS", Least: 8, Leaves: 3}}}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		colour := cli.Plain
		if n.State != api.StateUp {
			colour = cli.Red
		}
		f.Add(colour, n.Node, fmt.Sprint(n.Group), n.State, fmt.Sprintf("%d/%d", n.Busy, n.Slots), slotsBar(n.Busy, n.Slots), ownersOf(n.Owners))
	}
	return f
}
