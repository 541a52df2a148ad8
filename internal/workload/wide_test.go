package workload_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// The share of the work is as asked, the load stays, and the split workload has the same work in unit
// tasks.
func TestDemand(t *testing.T) {
	w, err := workload.Open("gen:ec2,jobs=2000")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := workload.ParseWide("--wide", "0.1:2-8")
	if err != nil {
		t.Fatal(err)
	}
	gangs, err := workload.ParseWide("--gang", "0.2:8-32")
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Demand(wide, gangs, 1, 120)
	if err != nil {
		t.Fatal(err)
	}
	inWide, inGangs := 0.0, 0.0
	for i := range got.Jobs {
		switch j := &got.Jobs[i]; {
		case j.Gang:
			inGangs += float64(j.Work())
			if n := len(j.Durations); n < 8 || n > 32 {
				t.Fatalf("a gang of %d tasks", n)
			}
		case j.Slots > 1:
			inWide += float64(j.Work())
			if j.Slots < 2 || j.Slots > 8 {
				t.Fatalf("a task of %d slots", j.Slots)
			}
		}
	}
	all := got.Work()
	if x, y := inWide/all, inGangs/all; x < 0.07 || x > 0.105 || y < 0.19 || y > 0.205 {
		t.Errorf("%.3f of the work is wide, %.3f in gangs", x, y)
	}
	if a, b := w.Load(120), got.Load(120); a/b < 0.999 || a/b > 1.001 {
		t.Errorf("the load was %v, and is %v", a, b)
	}
	wide.Split, gangs.Split = true, true
	split, err := w.Demand(wide, gangs, 1, 120)
	if err != nil || split.Work() != all {
		t.Errorf("split, the work is %v, want %v, %v", split.Work(), all, err)
	}
	for i := range split.Jobs {
		if !split.Jobs[i].IsUnit() {
			t.Fatal("a job of the split workload demands something")
		}
	}
}

func TestDemandsAreRefused(t *testing.T) {
	for _, text := range []string{"", "0.1", "x:2-8", "0.1:8-2", "0.1:0-2", "2:2-8", "-1:2", "0.1:2-5000", "0.1:2-8,split=perhaps", "0.1:2-8,odd=1"} {
		if _, err := workload.ParseWide("--wide", text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// A trace keeps the demands of its jobs.
func TestDemandsInTraces(t *testing.T) {
	const text = "0 1 1 1 slots=4\n1 2 1 1 1 owner=a priority=2 slots=2 gang=yes\n"
	w, err := workload.Read(strings.NewReader(text), "t")
	if err != nil {
		t.Fatal(err)
	}
	if w.Jobs[0].Slots != 4 || w.Jobs[0].Gang || w.Jobs[1].Slots != 2 || !w.Jobs[1].Gang || w.Jobs[0].Work() != 4e9 {
		t.Errorf("%+v", w.Jobs)
	}
	var b bytes.Buffer
	if err := w.Write(&b); err != nil || b.String() != text {
		t.Errorf("written as %q, %v", b.String(), err)
	}
	for _, end := range []string{"slots=0", "slots=5000", "slots=x", "slots=2 slots=2", "gang=no", "gang=yes gang=yes"} {
		if _, err := workload.Read(strings.NewReader("0 1 1 1 "+end+"\n"), "t"); err == nil {
			t.Errorf("%q is accepted", end)
		}
	}
}
