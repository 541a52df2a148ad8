package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// SharesPage is what "pigeon shares" prints of the whole cluster.
type SharesPage struct {
	Groups    int               `json:"groups"`    // of the cluster
	Reachable int               `json:"reachable"` // groups whose masters answered; the sums are over these
	Fair      bool              `json:"fair"`      // whether the policy shares slots between owners
	Slots     int               `json:"slots"`     // all that serve tasks
	HalfLife  float64           `json:"half_life"` // seconds after which half of an owner's use of the long class is forgotten; 0: nothing is remembered
	Owners    []api.OwnerShare  `json:"owners"`    // each after its parent, the whole first; summed over the groups
	Problems  []string          `json:"problems"`  // settings that could not be read again, and groups and frontends that did not answer
	Quotas    []api.OwnerQuotas `json:"quotas"`    // of the frontends that answered
}

// SharesCommand is the verb shares.
func SharesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "shares",
		GroupID: cli.GroupWatch,
		Short:   "Show what each owner is entitled to, uses and waits for",
		Long: `Shows the tree of owners: the weight and the limits of each, the slots to which it is
entitled, given the owners that want some now, the slots that run its tasks, its waiting
tasks, the slot-seconds it has used, and by how many of them it is ahead of the owner
of its level that is served next. In a pair, the first figure is of short tasks, the
second of long ones. An owner's figures contain those of all owners below it. They are summed
over the groups, each of which is shared separately. The quotas follow, and settings
that could not be read again.`,
		Example: "  pigeon shares\n  pigeon shares --by-group\n  pigeon shares --group 1 -o json",
		Args:    cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	byGroup := cmd.Flags().Bool("by-group", false, "each group by itself")
	group := cmd.Flags().Int("group", -1, "this group only")
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var groups []api.GroupOwners
		var page SharesPage
		err := connect.Ask(cmd, func(c *connect.Cluster) (err error) {
			groups, page, err = readShares(cmd.Context(), c)
			return err
		})
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("group") && (*group < 0 || *group >= len(groups)):
			return cli.AsUsageError(fmt.Errorf("there is no group %d; the cluster has the groups 0 to %d", *group, len(groups)-1))
		case cmd.Flags().Changed("group"):
			groups = groups[*group : *group+1]
			*byGroup = true
		}
		if err := reachable(groups); err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		switch {
		case *byGroup && *output == cli.OutputJSON:
			return cli.WriteAllJSON(out, groups)
		case *byGroup:
			return printGroupShares(out, groups)
		case *output == cli.OutputJSON:
			return cli.WriteJSON(out, &page)
		}
		return page.print(out)
	}
	return cmd
}

// reachable returns an error when no group's master answered.
func reachable(groups []api.GroupOwners) error {
	for i := range groups {
		if groups[i].Reachable {
			return nil
		}
	}
	return &api.Error{Problem: api.NotReady, What: "the master of none of them can be reached", Subject: sched.Count(len(groups), "group", "groups") + " of the cluster",
		Tried: "reading the shares", Next: "look at \"pigeon nodes --groups\" and at the masters' logs"}
}

// readShares returns the groups as the first frontend that answers reports them, their sum, and
// the quotas of all frontends.
func readShares(ctx context.Context, c *connect.Cluster) (groups []api.GroupOwners, page SharesPage, err error) {
	page.Owners, page.Problems, page.Quotas = []api.OwnerShare{}, []string{}, []api.OwnerQuotas{}
	// The first answer is waited for; then each frontend is asked once, because each has quotas.
	if err := c.Any(ctx, func(ctx context.Context, f *client.Frontend) error { _, err := f.Identify(ctx); return err }); err != nil {
		return nil, page, err
	}
	var problems []error
	for _, f := range c.Frontends() {
		call, cancel := c.WithTimeout(ctx)
		s, err := f.Shares(call)
		cancel()
		if c.IsStandby(err) {
			continue
		}
		if err != nil {
			problems = append(problems, err)
			page.Problems = append(page.Problems, fmt.Sprintf("the frontend at %s does not answer: %v", f.Address, err))
			continue
		}
		page.Quotas = append(page.Quotas, s.Quotas)
		if groups == nil {
			groups = s.Groups
		}
	}
	if groups == nil {
		return nil, page, errors.Join(problems...)
	}
	page.sum(groups)
	return groups, page, nil
}

// sum adds the groups to the page.
func (p *SharesPage) sum(groups []api.GroupOwners) {
	p.Groups = len(groups)
	for i := range groups {
		g := &groups[i]
		if !g.Reachable {
			p.Problems = append(p.Problems, fmt.Sprintf("the master of group %d cannot be reached", g.Group))
			continue
		}
		p.Reachable++
		p.Slots += g.Slots
		p.Fair, p.HalfLife = p.Fair || g.Fair, max(p.HalfLife, g.HalfLife)
		if g.Problem != "" {
			p.Problems = append(p.Problems, fmt.Sprintf("the master of group %d %s", g.Group, notRead("shares", g.Problem, g.ProblemSince)))
		}
		if g.Omitted > 0 {
			p.Problems = append(p.Problems, fmt.Sprintf("the master of group %d does not list %s", g.Group, sched.Count(g.Omitted, "more owner", "more owners")))
		}
	}
	for i := range p.Quotas {
		if q := &p.Quotas[i]; q.Problem != "" {
			p.Problems = append(p.Problems, fmt.Sprintf("%s %s", q.Frontend, notRead("quotas", q.Problem, q.ProblemSince)))
		}
	}
	p.Owners = append(p.Owners, api.SumOwners(groups)...)
}

// notRead is the end of a sentence about settings that could not be read again.
func notRead(what, problem string, since float64) string {
	return fmt.Sprintf("could not read the %s again since %s, those before stay in effect: %s", what, time.UnixMilli(int64(1000*since)).Format(time.DateTime), problem)
}

func (p *SharesPage) print(out io.Writer) error {
	if !p.Fair {
		fmt.Fprintln(out, "The policy of this cluster does not share slots between owners.")
	} else if err := printOwners(out, p.Owners); err != nil {
		return err
	}
	if err := printQuotas(out, p.Quotas); err != nil {
		return err
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(out, "\n%s\n", problem)
	}
	return nil
}

func printGroupShares(out io.Writer, groups []api.GroupOwners) error {
	for i := range groups {
		g := &groups[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		switch {
		case !g.Reachable:
			fmt.Fprintf(out, "group %d: its master cannot be reached\n", g.Group)
			continue
		case !g.Fair:
			fmt.Fprintf(out, "group %d: its policy does not share slots between owners\n", g.Group)
		default:
			fmt.Fprintf(out, "group %d: %s\n", g.Group, sched.Count(g.Slots, "slot", "slots"))
			if err := printOwners(out, g.Owners); err != nil {
				return err
			}
		}
		if g.Omitted > 0 {
			fmt.Fprintf(out, "%s not listed\n", sched.Count(g.Omitted, "more owner is", "more owners are"))
		}
		if g.Problem != "" {
			fmt.Fprintf(out, "its master %s\n", notRead("shares", g.Problem, g.ProblemSince))
		}
	}
	return nil
}

// printOwners prints a tree of owners.
func printOwners(out io.Writer, owners []api.OwnerShare) error {
	w := cli.NewTable(out)
	fmt.Fprintln(w, "OWNER\tWEIGHT\tMIN\tMAX\tENTITLED\tRUNNING\tWAITING\tUSED\tAHEAD BY")
	for i := range owners {
		o := &owners[i]
		fmt.Fprintf(w, "%s\t%g\t%s\t%s\t%.1f\t%d + %d\t%d + %d\t%.1f + %.1f s\t%.1f + %.1f s\n", treeName(o.Owner), o.Weight, part(o.Min), part(o.Max), o.Entitled,
			o.RunningShort, o.RunningLong, o.QueuedShort, o.QueuedLong, o.UsedShort, o.UsedLong, o.LeadShort, o.LeadLong)
	}
	return w.Flush()
}

// treeName returns an owner's last level, indented by those above it.
func treeName(owner string) string {
	if owner == "" {
		return "all"
	}
	return strings.Repeat("  ", 1+strings.Count(owner, "/")) + owner[1+strings.LastIndexByte(owner, '/'):]
}

func part(share float64) string {
	if share == 0 {
		return "-"
	}
	return fmt.Sprintf("%g%%", 100*share)
}

// printQuotas prints the quotas of all frontends, nothing when there are none.
func printQuotas(out io.Writer, list []api.OwnerQuotas) error {
	var w *cli.Table
	for _, f := range list {
		for _, q := range f.Quotas {
			if w == nil {
				w = cli.NewTable(out)
				fmt.Fprintln(w, "\nQUOTA OF\tFRONTEND\tTASKS\tBYTES")
			}
			name := q.Owner
			if name == "" {
				name = "(nobody in particular)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, f.Frontend, usedOf(int64(q.Tasks), int64(q.MaxTasks)), usedOf(q.Bytes, q.MaxBytes))
		}
	}
	if w == nil {
		return nil
	}
	return w.Flush()
}

func usedOf(used, most int64) string {
	if most == 0 {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%d of %d", used, most)
}
