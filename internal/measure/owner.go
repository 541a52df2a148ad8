package measure

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// OwnerResult is what the jobs of one owner got.
type OwnerResult struct {
	Owner  string     `json:"owner"`  // its path; "" for nobody in particular
	Weight Number     `json:"weight"` // product of the weights on its path
	Short  OwnerClass `json:"short"`  // of jobs that are short in truth
	Long   OwnerClass `json:"long"`   // of jobs that are long in truth
}

// Class returns the figures of a class, 0 short and 1 long.
func (o *OwnerResult) Class(class int) *OwnerClass { return [...]*OwnerClass{&o.Short, &o.Long}[class] }

// OwnerClass is what the jobs of one owner and class got.
type OwnerClass struct {
	Jobs       int          `json:"jobs"`       // that completed
	Completion Distribution `json:"completion"` // seconds from arrival to the report of the last task, over jobs
	Used       Number       `json:"used"`       // seconds of workers
	Contended  Number       `json:"contended"`  // of these, in windows in which it competed with others
	Entitled   Number       `json:"entitled"`   // what its weight gives it of these windows
}

// Fairness is how the owners' use of the workers agrees with their weights.
type Fairness struct {
	Window Number        `json:"window"` // seconds
	Short  ClassFairness `json:"short"`  // of tasks of short jobs
	Long   ClassFairness `json:"long"`   // of tasks of long jobs
}

// ClassFairness is the fairness among the tasks of a class.
type ClassFairness struct {
	Windows int    `json:"windows"` // that count: at every instant tasks of two owners or more waited
	Jain    Number `json:"jain"`    // Jain's index of contended / entitled over the owners
	Least   Number `json:"least"`   // least index of a window
}

// Class returns the fairness of a class, 0 short and 1 long.
func (f *Fairness) Class(class int) *ClassFairness {
	return [...]*ClassFairness{&f.Short, &f.Long}[class]
}

// byOwner holds the completion times of each owner's jobs, by class.
type byOwner map[string]*[2][]int64

func (b byOwner) add(owner string, class int, took int64) {
	times := b[owner]
	if times == nil {
		times = &[2][]int64{}
		b[owner] = times
	}
	times[class] = append(times[class], took)
}

// fill adds the owners' figures to a result; none when there is one owner without a name.
func (b byOwner) fill(r *Result, unit float64) {
	if len(b) == 0 || len(b) == 1 && b[""] != nil {
		return
	}
	var calm [2][]int64
	for _, name := range slices.Sorted(maps.Keys(b)) {
		o := r.owner(name)
		for class, list := range b[name] {
			if name != workload.FloodOwner {
				calm[class] = append(calm[class], list...)
			}
			*o.Class(class) = OwnerClass{Jobs: len(list), Completion: Describe(list, unit), Used: Missing(), Contended: Missing(), Entitled: Missing()}
		}
	}
	r.Others = &ByClass{Short: Describe(calm[0], unit), Long: Describe(calm[1], unit)}
}

// ownersShown is how many owners a table on a terminal has.
const ownersShown = 30

// OwnerTable prints the figures of a result's owners, those that used most first, and
// nothing when it has none.
func OwnerTable(dst io.Writer, r *Result) error {
	if len(r.Owners) == 0 {
		return nil
	}
	list := slices.Clone(r.Owners)
	slices.SortStableFunc(list, func(a, b OwnerResult) int {
		return -compareNumbers(a.Short.Used+a.Long.Used, b.Short.Used+b.Long.Used)
	})
	t := text.NewRightTable(dst)
	fmt.Fprintln(t, "owner\tweight\tshort jobs\tmean\tp99\tused\tof its share\tlong jobs\tmean\tp99\tused\tof its share\t")
	for i, o := range list {
		if i == ownersShown {
			fmt.Fprintf(t, "(%d more)\t\t\t\t\t\t\t\t\t\t\t\t\n", len(list)-i)
			break
		}
		name := o.Owner
		if name == "" {
			name = "(nobody)"
		}
		weight := "-"
		if !math.IsNaN(float64(o.Weight)) {
			weight = fmt.Sprintf("%g", float64(o.Weight))
		}
		fmt.Fprintf(t, "%s\t%s\t", name, weight)
		for class := range 2 {
			c := o.Class(class)
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t", c.Jobs, significant(c.Completion.Mean), significant(c.Completion.P99), significant(c.Used), percent(c.Contended/c.Entitled))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f := r.Fairness; f != nil {
		for class, name := range ClassNames() {
			if c := f.Class(class); c.Windows > 0 {
				fmt.Fprintf(dst, "%s tasks: Jain's index of used over entitled %.4f, least of a window %.4f (%d windows of %.6g s in which owners competed)\n",
					name, float64(c.Jain), float64(c.Least), c.Windows, float64(f.Window))
			}
		}
	}
	return nil
}

func compareNumbers(a, b Number) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
