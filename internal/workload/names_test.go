package workload

import (
	"reflect"
	"strings"
	"testing"
)

// Jobs of a work have similar durations, all works have the same number of jobs, and a share of
// the jobs have a name drawn at random.
func TestNamesOfRecurringWorks(t *testing.T) {
	w := made(t, "gen:ec2,jobs=1000")
	named := w.Recur(&Names{Count: 10}, 1)
	least, most, jobs := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, j := range named.Jobs {
		mean := j.Work() / int64(len(j.Durations))
		if jobs[j.Name]++; jobs[j.Name] == 1 || mean < least[j.Name] {
			least[j.Name] = mean
		}
		most[j.Name] = max(most[j.Name], mean)
	}
	for name, n := range jobs {
		if n != 100 {
			t.Errorf("%s has %d jobs, want 100", name, n)
		}
		for other := range jobs {
			if name != other && least[name] < least[other] && most[name] > least[other] {
				t.Errorf("%s (up to %d ns) and %s (from %d ns) overlap", name, most[name], other, least[other])
			}
		}
	}
	odd := 0
	for i, j := range w.Recur(&Names{Count: 10, Odd: 0.5}, 1).Jobs {
		if j.Name != named.Jobs[i].Name {
			odd++
		}
	}
	if odd < 380 || odd > 520 { // half of them, and a tenth of these draws their own
		t.Errorf("%d of 1000 jobs have another name, want about 450", odd)
	}
	if w.Jobs[0].Name != "" || !reflect.DeepEqual(w.Recur(nil, 1), w) {
		t.Error("names without an option")
	}
}

func TestNamesRefused(t *testing.T) {
	for text, want := range map[string]string{"": "whole number from 1", "x": "names=x", "5,odd=2": "odd=2", "5,od=1": `did you mean "odd"`} {
		if _, err := ParseNames(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
