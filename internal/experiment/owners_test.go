package experiment

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// fair are the policies that share workers between owners.
var fair = []string{"pigeon", "pigeon-sort", "pigeon-x", "fifo", "priority"}

func simulatedResult(t *testing.T, d *Description) measure.Result {
	t.Helper()
	run, w := one(t, d)
	out, err := run.Simulate(t.Context(), w, SimOptions{Delay: 500 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	return run.Result(w, out)
}

// The flood of issue 11: two tasks of 100 ms against 1,200 of another owner, on 8 slots.
// First come, first served they took 15.2 s.
func TestTwoTasksBesideAFlood(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "flood.tr")
	text := "0 1200 0.1" + strings.Repeat(" 0.1", 1200) + " owner=team/bob\n1 2 0.1 0.1 0.1 owner=team/alice\n"
	if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, policy := range fair {
		d := small()
		d.Trace, d.Policies, d.Groups, d.Frontends, d.Reserved = trace, []string{policy}, []int{8}, 1, 0
		r := simulatedResult(t, d)
		if took := r.OwnerOf("team/alice").Short.Completion.P50; !(took <= 0.3) {
			t.Errorf("%s: the two tasks take %v s, want at most 0.3", policy, took)
		}
	}
}

// Owners that always have work, on 120 workers in three groups: Jain's index is at least 0.995,
// and with the weights 1, 2 and 4 each has its share within 1 %, in either class. No
// short task runs past the cutoff, which would be charged to the long class.
func TestOwnersThatAlwaysHaveWork(t *testing.T) {
	for i, policy := range fair {
		for class, cutoff := range []time.Duration{time.Second, 100 * time.Millisecond} {
			for _, shares := range [][]sched.Share{nil, {{Owner: "o2", Weight: 2}, {Owner: "o3", Weight: 4}}} {
				if testing.Short() && (shares == nil || class != i%2) {
					continue // each policy with shares, in turn for short and for long jobs
				}
				d := small()
				d.Trace, d.Policies = "gen:uniform,jobs=3000,fanout=20,load=4,mean=300ms", []string{policy}
				d.Groups, d.Cutoff, d.Frontends = EvenGroups(120, 3), cutoff, 10
				d.Workload.Owners, d.Shares = &workload.Owners{Count: 3, Burst: 1}, shares
				r := simulatedResult(t, d)
				f := r.Fairness.Class(class)
				t.Logf("%s, %d shares, %s: index %v, least %v of %d windows", policy, len(shares), measure.ClassNames()[class], f.Jain, f.Least, f.Windows)
				if f.Windows == 0 || !(f.Jain >= 0.995) || !(f.Least >= 0.99) {
					t.Errorf("%s, %d shares: fairness of class %d is %+v", policy, len(shares), class, *f)
				}
				for k := range r.Owners {
					if c := r.Owners[k].Class(class); !(math.Abs(float64(c.Contended/c.Entitled)-1) <= 0.01) {
						t.Errorf("%s, %d shares: %s used %v of %v s of class %d", policy, len(shares), r.Owners[k].Owner, c.Contended, c.Entitled, class)
					}
				}
			}
		}
	}
}

// Jobs have the names of their works only where frontends are to learn by them, so that a live run
// and a simulated one of the same flags know the same of a job.
func TestNamesAreForLearning(t *testing.T) {
	for _, learned := range []bool{false, true} {
		d := small()
		d.Workload.Undeclared, d.Workload.Names, d.Learned = 1, &workload.Names{Count: 5}, learned
		_, w := one(t, d)
		for i := range w.Jobs {
			if (w.Jobs[i].Name != "") != learned {
				t.Fatalf("classes learned %v: job %d has the name %q", learned, i, w.Jobs[i].Name)
			}
		}
	}
}

// When no job is declared and works recur, frontends learn the classes: a long job is submitted
// as long once its work is known, and short jobs do about as well as with declared classes.
func TestLearnedClasses(t *testing.T) {
	described := func(change func(*Description)) measure.Result {
		d := small()
		d.Trace, d.Groups, d.Frontends = "gen:ec2,jobs=3000", EvenGroups(120, 3), 2
		change(d)
		return simulatedResult(t, d)
	}
	declared := described(func(*Description) {})
	nothing := described(func(d *Description) { d.Workload.Undeclared = 1 })
	learned := described(func(d *Description) {
		d.Workload.Undeclared, d.Workload.Names, d.Learned = 1, &workload.Names{Count: 50}, true
	})
	right, unknown, known := declared.Short.Completion.Mean, nothing.Short.Completion.Mean, learned.Short.Completion.Mean
	t.Logf("short mean %v s with declared classes, %v s with none, %v s with learned ones", right, unknown, known)
	if known-right > (unknown-right)/2 {
		t.Errorf("short mean %v s with learned classes, %v s with declared ones, %v s with none", known, right, unknown)
	}
}
