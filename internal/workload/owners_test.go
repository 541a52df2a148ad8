package workload

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func assigned(t *testing.T, w *Workload, text string, seed uint64) *Workload {
	t.Helper()
	o, err := ParseOwners(text)
	if err != nil {
		t.Fatal(err)
	}
	return w.Assign(o, seed)
}

func TestOwnersHaveZipfShares(t *testing.T) {
	w := made(t, "gen:ec2,jobs=50000")
	jobs := map[string]int{}
	for _, j := range assigned(t, w, "4,skew=1", 7).Jobs {
		jobs[j.Owner]++
	}
	sum := 1 + 1/2. + 1/3. + 1/4.
	for k, name := range []string{"o1", "o2", "o3", "o4"} {
		got, want := float64(jobs[name])/50_000, 1/float64(k+1)/sum
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%s has %.3f of the jobs, want %.3f", name, got, want)
		}
	}
	if len(jobs) != 4 {
		t.Errorf("owners %v", jobs)
	}
}

// The flood is half of the short jobs' work; they arrive in bursts of 1,000 tasks, and everything
// else is as it is without them.
func TestFlood(t *testing.T) {
	w := made(t, "gen:ec2,jobs=20000").Classify(1e9)
	with := assigned(t, w, "20,skew=1,flood=0.5,burst=1000", 7)
	without := assigned(t, w, "20,skew=1,flood=0.5,burst=1000,absent=true", 7)
	others := slices.DeleteFunc(slices.Clone(with.Jobs), func(j Job) bool { return j.Owner == FloodOwner })
	if !reflect.DeepEqual(others, without.Jobs) {
		t.Error("the others differ when the flood is absent")
	}
	if !slices.IsSortedFunc(with.Jobs, func(a, b Job) int { return int(min(1, max(-1, a.Arrival-b.Arrival))) }) {
		t.Error("jobs are not in order of arrival")
	}
	short, flood, tasks := 0.0, 0.0, map[int64]int{}
	for _, j := range with.Jobs {
		if !j.TrueLong {
			short += float64(j.Work())
		}
		if j.Owner == FloodOwner {
			flood += float64(j.Work())
			tasks[j.Arrival] += len(j.Durations)
			if j.TrueLong {
				t.Fatal("the flood has a long job")
			}
		}
	}
	if share := flood / short; math.Abs(share-0.5) > 0.002 {
		t.Errorf("the flood is %.4f of the work of short jobs, want 0.5", share)
	}
	small := 0
	for _, n := range tasks {
		if n < 1000 {
			small++
		}
		if n >= 1000+98 { // the widest short job
			t.Errorf("a burst has %d tasks", n)
		}
	}
	if small > 1 || len(tasks) < 5 {
		t.Errorf("%d of %d bursts have fewer than 1000 tasks, want the last one at most", small, len(tasks))
	}
	if len(with.Owners()) != 20 || len(without.Owners()) != 19 {
		t.Errorf("owners %v and %v", with.Owners(), without.Owners())
	}
}

// An owner depends on seed and key alone: neither on the other jobs nor on what else is drawn.
func TestOwnerOfAKey(t *testing.T) {
	w := made(t, "gen:ec2,jobs=500")
	all, few := assigned(t, w, "20,skew=0.5", 3), assigned(t, w.FirstN(100), "20,skew=0.5", 3)
	if !reflect.DeepEqual(all.Jobs[:100], few.Jobs) {
		t.Error("fewer jobs have other owners")
	}
	if reflect.DeepEqual(all, assigned(t, w, "20,skew=0.5", 4)) {
		t.Error("two seeds have one result")
	}
	if w.Jobs[0].Owner != "" || w.Owners() != nil {
		t.Error("the receiver changed")
	}
	seen := map[int32]int{}
	for i, j := range assigned(t, w, "20,skew=0.5,priorities=3", 3).Jobs {
		seen[j.Priority]++
		if j.Owner != all.Jobs[i].Owner {
			t.Fatal("priorities change owners")
		}
	}
	if len(seen) != 3 || seen[0]+seen[1]+seen[2] != 500 || seen[2] < 100 {
		t.Errorf("priorities %v", seen)
	}
}

func TestOwnersRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "owners= is not a whole number from 1 to 100000",
		"0":                    "whole number from 1",
		"many":                 "owners=many",
		"3,skew=-1":            "skew=-1 is not a number from 0 to 10",
		"3,flod=0.5":           `did you mean "flood"`,
		"3,burst=100":          "there is none; add flood",
		"1,flood=0.5":          "give 2 or more",
		"3,flood=0.5,burst=0":  "burst=0",
		"3,skew=1,skew=2":      "given twice",
		"3,flood=0.5,absent=7": "true or false",
	} {
		if _, err := ParseOwners(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--owners") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The fields are written and read back; a trace without them is as it was.
func TestFieldsOfATrace(t *testing.T) {
	const text = "0.5 1 1 1 owner=team/alice priority=-3\n1 2 1 1 1 owner=a%20b%25\n2 1 1 1 priority=7\n3 1 1 1\n"
	w, err := Read(strings.NewReader(text), "some.tr")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Job{{Owner: "team/alice", Priority: -3}, {Owner: "a b%"}, {Priority: 7}, {}} {
		if j := w.Jobs[i]; j.Owner != want.Owner || j.Priority != want.Priority {
			t.Errorf("line %d: owner %q, priority %d", i+1, j.Owner, j.Priority)
		}
	}
	var out strings.Builder
	if err := w.Write(&out); err != nil || out.String() != text {
		t.Errorf("written again: %v\n%s", err, out.String())
	}
	long := strings.Repeat("ü", 127)
	for line, want := range map[string]string{
		"0 1 1 1 owner=a//b\n":                              "an owner such as",
		"0 1 1 1 owner=\n":                                  "an owner such as",
		"0 1 1 1 owner=%zz\n":                               "an owner such as",
		"0 1 1 1 owner=a owner=b\n":                         "one owner of a job",
		"0 1 1 1 owner=a priority=1 owner=a\n":              "one owner of a job",
		"0 1 1 1 priority=1 priority=2\n":                   "one priority of a job",
		"0 1 1 1 priority=0 owner=a priority=0\n":           "one priority of a job",
		"0 1 1 1 priority=1e3\n":                            "a priority such as",
		"0 1 1 1 1\n":                                       "the end of the line after 1",
		"0 1 1 1 owner=" + strings.Repeat("x", 2000) + "\n": "at most 781 characters",
		"0 1 1 1 owner=" + long + "ü\n":                     "an owner such as",
	} {
		if _, err := Read(strings.NewReader(line), "some.tr"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", line, err, want)
		}
	}
	if w, err := Read(strings.NewReader("0 1 1 1 owner="+long+"\n"), "some.tr"); err != nil || w.Jobs[0].Owner != long {
		t.Errorf("an owner of 254 bytes: %v", err)
	}
}
