package driver

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

func TestWriteJobs(t *testing.T) {
	var out bytes.Buffer
	w := &workload.Workload{Jobs: []workload.Job{
		{Line: 4, Arrival: 100, Estimate: 7, Durations: []int64{7}},
		{Line: 5, Arrival: 150, Durations: []int64{1, 2}, DeclaredLong: true},
	}}
	if err := writeJobs(&out, w, []int{0, 1}, 100); err != nil || out.String() != "job 4 short 0 7 7\njob 5 long 50 0 1 2\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestParse(t *testing.T) {
	good := `{"job":3,"submitted":5,"completion":9,"state":"completed","reason":"","reported":[7],"ran":[4],"attempts":[1],"executors":["0"]}`
	for _, c := range []struct{ old, with, want string }{
		{"", "", ""},
		{good, `{"ready":0,"application":"a"}`, ""},
		{good, `{"seconds":1.5}`, ""},
		{good, `{"seconds":[]}`, ""},
		{good, `{"seconds":"x"}`, "cannot unmarshal"},
		{`"completed"`, `"failed"`, ""},
		{`"job":3`, `"job":0`, "no line of a trace"},
		{`"completed"`, `"lost"`, `"lost"`},
		{`[4]`, `[4,5]`, "different numbers of tasks"},
		{`["0"]`, `[]`, "different numbers of tasks"},
		{`"submitted":5`, `"submitted":-5`, "out of bounds"},
		{`"completion":9`, `"completion":9000000000000000000`, "out of bounds"},
		{`[7]`, `[-2]`, "task 0 is out of bounds"},
		{`[7]`, `[-1]`, "completed without task 0"},
		{`[4]`, `[-4]`, "task 0 is out of bounds"},
		{`{`, ``, "invalid character"},
	} {
		_, err := parse([]byte(strings.Replace(good, c.old, c.with, 1)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.with, c.old, err, c.want)
		}
	}
}

// FuzzParse: an accepted line is one kind of answer, and each list of a record has all tasks.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"ready":2}`))
	f.Add([]byte(`{"seconds":[1,2]}`))
	f.Add([]byte(`{"job":1,"submitted":5,"completion":9,"state":"completed","reported":[7,8],"ran":[4,9],"attempts":[1,2],"executors":["0",""]}`))
	f.Add([]byte(`{"job":2,"submitted":5,"completion":9,"state":"failed","reported":[-1],"ran":[0],"attempts":[0],"executors":[""]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := parse(line)
		if err != nil {
			return
		}
		kinds := 0
		for _, set := range []bool{a.Ready != nil, a.Record != nil, a.Seconds != nil} {
			if set {
				kinds++
			}
		}
		if kinds != 1 {
			t.Fatalf("%s is %+v", line, a)
		}
		if r := a.Record; r != nil && (len(r.Ran) != len(r.Reported) || r.Submitted < 0 || r.Completion < 0) {
			t.Errorf("%s is %+v", line, r)
		}
	})
}
