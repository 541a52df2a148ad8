package api

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAfter(t *testing.T) {
	for text, want := range map[string]After{
		"a": {Job: "a"}, "a:ok": {Job: "a"}, "a:any": {Job: "a", Any: true}, "a:b": {Job: "a:b"}, "a:b:any": {Job: "a:b", Any: true},
	} {
		got, err := ParseAfter(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if back, err := ParseAfter(got.String()); err != nil || back != want {
			t.Errorf("%q comes back as %+v, %v", got, back, err)
		}
	}
	for _, text := range []string{"", ":ok", ":any"} {
		if a, err := ParseAfter(text); err == nil {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

// A mistyped condition is not taken for a part of the id, unless a key may be meant.
func TestParseAfterRefusesOtherConditions(t *testing.T) {
	const made = "01JC0000000000000000000000" // an id that a frontend makes
	for text, want := range map[string]string{
		made + ":notok": `":notok" is no condition; write JOB:ok`, made + ":maybe": `":maybe" is no condition`, made + ":OK": `":OK" is no condition`, made + ":": `":" is no condition`,
		"key:afternotok": "there is none for a job that failed, as Slurm's afternotok", "key:Any": "JOB:any (however it has ended)", "key:": `":" is no condition`,
		"afterok:" + made: "is written as for Slurm; write JOB:ok", "afterany:1:2": "each job by itself",
	} {
		if a, err := ParseAfter(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, a, err, want)
		}
	}
	for _, key := range []string{"nightly:7", "key:maybe", "key::ok", "key:notok:ok", made + ":1:any"} {
		if _, err := ParseAfter(key); err != nil {
			t.Errorf("%q may be a key: %v", key, err)
		}
	}
}

func TestAfterMet(t *testing.T) {
	for state, want := range map[State][2]bool{ // ok, any
		StateHeld: {}, StateQueued: {}, StateRunning: {}, StateCompleted: {true, true}, StateFailed: {false, true}, StateCancelled: {false, true},
	} {
		if got := [2]bool{After{Job: "a"}.Met(state), After{Job: "a", Any: true}.Met(state)}; got != want {
			t.Errorf("%s: ok and any are met: %v, want %v", state, got, want)
		}
	}
}

func TestJobsAfterWhichOneStartsAreChecked(t *testing.T) {
	many := make([]After, MaxAfter+1)
	for want, after := range map[string][]After{
		"after itself": {{Job: "k"}}, "twice": {{Job: "a"}, {Job: "a", Any: true}}, "the limit of 100": many, "is empty": {{}},
	} {
		r := twoTasks()
		r.Key, r.After = "k", after
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An array of a set gives each task its index, and some of its tasks theirs.
func TestArrayOfIndices(t *testing.T) {
	a, n, _, err := ParseArray("1,3,5-9,20-40:10")
	if err != nil || n != 10 {
		t.Fatal(n, err)
	}
	var got []int64
	for k := range n {
		got = append(got, a.Index(k))
	}
	if want := []int64{1, 3, 5, 6, 7, 8, 9, 20, 30, 40}; !slices.Equal(got, want) {
		t.Errorf("the indices are %v, want %v", got, want)
	}
	for _, c := range []struct {
		of   Array
		want Array
	}{
		{a, Array{First: -1, Step: 1, Indices: "3,6-7,40"}},
		{Array{First: 10, Step: 5}, Array{First: -1, Step: 1, Indices: "15,25,30,55"}},
		{Array{}, Array{First: -1, Step: 1, Indices: "1,3-4,9", Numbers: true}},
	} {
		got, err := c.of.Subset([]int{1, 3, 4, 9})
		if err != nil || got != c.want {
			t.Errorf("of %+v: %+v, %v; want %+v", c.of, got, err, c.want)
		}
		if what, _ := got.fault(BackendExec, 4); what != "" {
			t.Errorf("%+v: %s", got, what)
		}
	}
	if one, err := (Array{First: 7, Step: 1}).Subset([]int{0}); err != nil || one.Index(0) != 7 {
		t.Errorf("one task: %+v, %v", one, err)
	}
	even := make([]int, MaxTasks/2)
	for i := range even {
		even[i] = 2 * i
	}
	if _, err := (Array{}).Subset(even); err == nil || !strings.Contains(err.Error(), "16384 bytes") {
		t.Errorf("a set without a bound: %v", err)
	}
	for _, bad := range []Array{{First: -1, Step: 1, Indices: "1,2"}, {First: -1, Step: 1, Indices: "1,2,3%2"}, {First: -1, Step: 1, Indices: "x"}, {First: 1, Step: 1, Numbers: true}} {
		if what, _ := bad.fault(BackendExec, 3); what == "" {
			t.Errorf("%+v passes for three tasks", bad)
		}
	}
}

func TestParseArray(t *testing.T) {
	for text, want := range map[string]struct {
		Array
		n, most int
	}{
		"1-1000": {Array{First: 1, Step: 1}, 1000, 0}, "0-0": {Array{Step: 1}, 1, 0}, "7": {Array{First: 7, Step: 1}, 1, 0}, "0-90:10": {Array{Step: 10}, 10, 0}, "5-9:3%1": {Array{First: 5, Step: 3}, 2, 1}, "1-1000%50": {Array{First: 1, Step: 1}, 1000, 50},
		"1,3,5-9": {Array{First: -1, Step: 1, Indices: "1,3,5-9"}, 7, 0}, "9,0-4:2%2": {Array{First: -1, Step: 1, Indices: "9,0-4:2"}, 4, 2},
	} {
		a, n, most, err := ParseArray(text)
		if err != nil || a != want.Array || n != want.n || most != want.most {
			t.Errorf("%s: %+v, %d, %d, %v", text, a, n, most, err)
		}
	}
	if i := (Array{First: 5, Step: 3}).Index(1); i != 8 {
		t.Errorf("the second index is %d", i)
	}
	for text, want := range map[string]string{
		"": "is no range of indices", "3-1": "is no range of indices", "1-9:0": "is no range of indices", "1-9:": "is no range of indices", "-1-3": "is no range of indices", "1-3,": "is no range of indices", "1,,2": "is no range of indices", "1, 2": "is no range of indices", "7:2": "is no range of indices", "1-5,3": "has the index 3 twice", "1,2-9:0": "is no range of indices", "1,0-100000": "the limit of 100000 tasks", "1,2147483648": "the limit of 2147483647",
		"0-9999999999": "9999999999, above the limit of 2147483647", "0-2147483648": "the limit of 2147483647", "1-9:2147483648": "the limit of 2147483647", "1-9%2147483648": "the limit of 2147483647", "1-100001": "the limit of 100000 tasks", "1-1000%": "is no range of indices", "1-9%0": "is no range of indices", "1-9%-1": "is no range of indices", "1-9%x": "is no range of indices",
	} {
		if _, _, _, err := ParseArray(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestArraysOfProcessesOnly(t *testing.T) {
	r := twoTasks()
	r.Array = Array{First: 1, Step: 1}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Array.Step = 0
	if err := r.Validate(); err == nil {
		t.Error("steps of 0 are accepted")
	}
	r.Array = Array{First: 1, Step: 1}
	r.Backend = BackendSleep
	for i := range r.Tasks {
		r.Tasks[i].Payload = Payload{Backend: BackendSleep}
	}
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "only processes") {
		t.Error(err)
	}
}

// At most one task can have the standard input of its submitter.
func TestStandardInputIsForOneTask(t *testing.T) {
	r := twoTasks()
	r.Tasks[0].Payload.Exec.Stdin, r.Tasks[1].Payload.Exec.Stdin = true, true
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "it takes standard input and has 2 tasks") {
		t.Error(err)
	}
	with, without := twoTasks(), twoTasks()
	with.Tasks, without.Tasks = with.Tasks[:1], without.Tasks[:1]
	with.Tasks[0].Payload.Exec.Stdin = true
	if err := with.Validate(); err != nil {
		t.Error(err)
	}
	if with.Fingerprint() == without.Fingerprint() || with.Difference(without) == "" {
		t.Error("jobs with and without standard input are the same")
	}
}

func TestScriptsAreBounded(t *testing.T) {
	r := twoTasks()
	r.Tasks[1].Payload.Exec.Script = make([]byte, MaxScript)
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Tasks[1].Payload.Exec.Script = make([]byte, MaxScript+1)
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "the limit of 262144") {
		t.Error(err)
	}
}
