package journal

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func drawPayload(t *rapid.T) api.Payload {
	p := api.Payload{Backend: rapid.SampledFrom([]api.Backend{api.BackendApp, api.BackendSleep, api.BackendExec}).Draw(t, "backend")}
	switch p.Backend {
	case api.BackendApp:
		if m := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "message"); len(m) > 0 {
			p.Message = m
		}
	case api.BackendSleep:
		p.Sleep = time.Duration(rapid.Int64().Draw(t, "sleep"))
	case api.BackendExec:
		p.Exec = &api.Exec{Argv: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "argv"), Dir: rapid.String().Draw(t, "dir")}
		if s := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "script"); len(s) > 0 {
			p.Exec.Script = s
		}
		p.Exec.Stdin = rapid.Bool().Draw(t, "stdin")
	}
	return p
}

func drawSubmission(t *rapid.T) *Submission {
	word := rapid.StringN(0, 12, -1)
	pool := rapid.SliceOfN(rapid.Custom(drawPayload), 1, 4).Draw(t, "payloads")
	s := &Submission{
		Job:       sched.JobID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")},
		Class:     sched.Class(rapid.IntRange(0, 1).Draw(t, "class")),
		Why:       word.Draw(t, "why"),
		Submitted: rapid.Int64().Draw(t, "submitted"),
		Attempt:   rapid.Int32Min(0).Draw(t, "attempt"), Fingerprint: word.Draw(t, "fingerprint"),
		Shared: rapid.Bool().Draw(t, "shared"),
		Request: api.Request{
			App: word.Draw(t, "app"), User: word.Draw(t, "user"), UserGroup: word.Draw(t, "user's group"), Priority: rapid.Int32().Draw(t, "priority"), Description: word.Draw(t, "description"), Key: word.Draw(t, "key"),
			Backend: api.Backend(word.Draw(t, "backend")), Class: word.Draw(t, "class word"), Estimate: time.Duration(rapid.Int64().Draw(t, "estimate")),
			EstimateSet: rapid.Bool().Draw(t, "set"), AvgMillis: rapid.Float64().Draw(t, "avg"), HT: rapid.Bool().Draw(t, "ht"),
			Retries: rapid.IntRange(0, 100).Draw(t, "retries"), Restartable: rapid.Bool().Draw(t, "restartable"), Trace: api.Trace{Traceparent: word.Draw(t, "parent"), Tracestate: word.Draw(t, "state")},
			Limits:     api.Limits{Memory: rapid.Int64().Draw(t, "memory"), CPUs: rapid.Float64().Draw(t, "cpus"), Time: time.Duration(rapid.Int64().Draw(t, "time limit"))},
			Submitter:  word.Draw(t, "submitter"),
			Array:      api.Array{First: rapid.Int64().Draw(t, "first index"), Step: rapid.Int64().Draw(t, "step"), Indices: rapid.SampledFrom([]string{"", "1,3,5-9"}).Draw(t, "indices")},
			MaxRunning: int(rapid.Int32Min(0).Draw(t, "running")),
		},
	}
	if rapid.Bool().Draw(t, "with files") {
		s.Request.Stage = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.StagedFile {
			return api.StagedFile{Name: word.Draw(t, "name"), SHA256: word.Draw(t, "sum"), Size: rapid.Int64().Draw(t, "size"), Executable: rapid.Bool().Draw(t, "executable")}
		}), 1, 3).Draw(t, "files")
	}
	if rapid.Bool().Draw(t, "after others") {
		s.Request.After = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.After {
			return api.After{Job: word.Draw(t, "job"), Any: rapid.Bool().Draw(t, "any")}
		}), 1, 3).Draw(t, "after")
	}
	s.Request.Tasks = make([]api.Task, rapid.IntRange(0, 9).Draw(t, "tasks"))
	for i := range s.Request.Tasks {
		s.Request.Tasks[i] = api.Task{ID: word.Draw(t, "id"), Payload: rapid.SampledFrom(pool).Draw(t, "payload")}
	}
	return s
}

func drawEvent(t *rapid.T, job sched.JobID) Record {
	n := rapid.Int32Min(0)
	e := Record{Kind: rapid.SampledFrom([]Kind{Placed, Moved, Reclassed, NewAttempt, NewAttempts, Lost, NotLost, TaskEnded, TaskReported, Cancelled, Met}).Draw(t, "kind"), Job: job}
	outcome := sched.Outcome(rapid.IntRange(0, int(sched.Yielded)).Draw(t, "outcome"))
	reason := rapid.String().Draw(t, "reason")
	switch e.Kind {
	case Reclassed:
		e.Class = sched.Class(rapid.IntRange(0, 1).Draw(t, "class"))
	case Placed, Moved:
		e.First, e.Count, e.Attempt, e.Group = n.Draw(t, "first"), n.Draw(t, "count"), n.Draw(t, "attempt"), n.Draw(t, "group")
	case Met:
		e.First, e.At = n.Draw(t, "first"), rapid.Int64().Draw(t, "at")
	case NotLost:
		e.First, e.Node = n.Draw(t, "first"), rapid.String().Draw(t, "node")
	case NewAttempt, NewAttempts, Lost:
		if e.Kind == Lost {
			e.Node = rapid.String().Draw(t, "node")
		}
		if e.Kind == NewAttempts {
			e.Count = n.Draw(t, "count")
		}
		e.First, e.Attempt, e.Losses, e.Retries = n.Draw(t, "first"), n.Draw(t, "attempt"), rapid.Byte().Draw(t, "losses"), rapid.Byte().Draw(t, "retries")
		e.Outcome, e.Reason = outcome, reason
		if e.Kind != NewAttempts {
			drawFailure(t, &e)
			e.Elapsed = time.Duration(rapid.Int64().Draw(t, "elapsed"))
		}
		if e.Kind == NewAttempt {
			e.Node = rapid.String().Draw(t, "node")
		}
	case TaskEnded, TaskReported:
		if e.Kind == TaskReported {
			e.Node = rapid.String().Draw(t, "node")
			drawFailure(t, &e)
		}
		e.First, e.Attempt, e.Outcome, e.Reason = n.Draw(t, "first"), n.Draw(t, "attempt"), outcome, reason
		e.Elapsed, e.At = time.Duration(rapid.Int64().Draw(t, "elapsed")), rapid.Int64().Draw(t, "at")
	case Cancelled:
		e.Reason, e.At = reason, rapid.Int64().Draw(t, "at")
	}
	return e
}

func drawFailure(t *rapid.T, e *Record) {
	if rapid.Bool().Draw(t, "failure") {
		e.Exit, e.Code, e.Began = rapid.IntRange(0, 255).Draw(t, "exit"), rapid.String().Draw(t, "code"), rapid.Int64().Draw(t, "began")
	}
}

// What is known of a failure follows its record, and what a later program knows beside it is
// skipped. Without a record before it there is nothing of which it could say more.
func TestFailureFollowsItsRecord(t *testing.T) {
	job := sched.JobID{Hi: 1}
	plain := Record{Kind: TaskReported, Job: job, First: 1, Attempt: 2, Outcome: sched.Failed, Reason: "r", Elapsed: 3, At: 4, Node: "n"}
	before := appendEvent([]byte{valueVersion}, &plain)
	failed := plain
	failed.Exit, failed.Code, failed.Began = 137, api.CodeOutOfMemory, 9
	v := appendEvent([]byte{valueVersion}, &failed)
	if !bytes.HasPrefix(v, before) {
		t.Fatalf("the record is %x, and %x without a failure", v, before)
	}
	v[len(before)+1] += 3 // the length
	v = append(v, 100, 1, 'n')
	v = appendEvent(v, &plain)
	if back, err := decodeEvents(nil, job, v); err != nil || !reflect.DeepEqual(back, []Record{failed, plain}) {
		t.Fatalf("%+v, %v", back, err)
	}
	cancelled := appendEvent([]byte{valueVersion}, &Record{Kind: Cancelled})
	for name, v := range map[string][]byte{
		"alone": {valueVersion, byte(failure), 0}, "after a cancellation": append(cancelled, byte(failure), 0), "cut": v[:len(before)+3],
	} {
		if back, err := decodeEvents(nil, job, v); err == nil {
			t.Errorf("%s it was read: %+v", name, back)
		}
	}
	if back, err := decodeEvents([]Record{plain}, job, []byte{valueVersion, byte(failure), 0}); err == nil {
		t.Errorf("it was read as a part of a record of another bundle: %+v", back)
	}
}

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSubmission(t)
		got, err := decodeSubmission(encodeSubmission(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
		events := []byte{valueVersion}
		var list []Record
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			e := drawEvent(t, want.Job)
			list, events = append(list, e), appendEvent(events, &e)
		}
		if back, err := decodeEvents(nil, want.Job, events); err != nil || !reflect.DeepEqual(back, list) {
			t.Fatalf("got %+v, %v\nwant %+v", back, err, list)
		}
		end := &Ended{Job: want.Job, Key: want.Request.Key, At: want.Submitted, Fingerprint: want.Fingerprint, Results: []byte("results"), Earlier: []byte("earlier"), Times: []byte("times"),
			Status: api.Status{Job: "j", State: api.StateFailed, Tasks: 3, Failed: 1, Seconds: want.Request.AvgMillis, Reason: want.Why, Released: float64(want.Submitted)}}
		if back, err := decodeEnded(encodeEnded(end)); err != nil || !reflect.DeepEqual(back, end) {
			t.Fatalf("got %+v, %v\nwant %+v", back, err, end)
		}
	})
}

// The bytes of version 1 are fixed: a journal written today is read by every
// later program.
func TestCodecVersionOneIsFixed(t *testing.T) {
	s := &Submission{Job: sched.JobID{Hi: 1, Lo: 2}, Class: sched.Long, Why: "w", Submitted: 3, Request: api.Request{App: "a", Key: "k", Backend: api.BackendSleep,
		Estimate: time.Second, EstimateSet: true, Retries: 2, Tasks: []api.Task{
			{ID: "0", Payload: api.Payload{Backend: api.BackendSleep, Sleep: 5}}, {ID: "1", Payload: api.Payload{Backend: api.BackendSleep, Sleep: 5}}}}}
	const want = "0137000000000000000100000000000000020101770601610000016b05736c656570000000" + "0180a8d6b907" + "0000000000000000" + "0202" + "01300131" + "0105736c656570000a0000"
	if got := hex.EncodeToString(encodeSubmission(s)); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	// The number of the first attempts follows the names of the tasks, within the head.
	s.Attempt = 10_001
	numbered := strings.Replace(want, "0137", "0139", 1)
	numbered = strings.Replace(numbered, "01300131", "01300131"+"914e", 1)
	if got := hex.EncodeToString(encodeSubmission(s)); got != numbered {
		t.Fatalf("got  %s\nwant %s", got, numbered)
	}
}

// A field that this program does not know is skipped; one that is cut is an error.
func TestOptionalFieldsOfALaterProgram(t *testing.T) {
	want := submission("k", 1)
	want.Request.UserGroup = "users"
	v := append(encodeSubmission(want), 200, 1, 3, 'n', 'e', 'w')
	if got, err := decodeSubmission(v); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
	if _, err := decodeSubmission(v[:len(v)-1]); err == nil {
		t.Fatal("a cut field was read")
	}
}

func TestEqualPayloadsAreStoredOnce(t *testing.T) {
	s := submission("many", 1000)
	for i := range s.Request.Tasks {
		s.Request.Tasks[i].Payload = api.Payload{Message: make([]byte, 4096)}
	}
	if n := len(encodeSubmission(s)); n > 4096+1000*6+200 {
		t.Fatalf("1000 tasks with one payload of 4096 bytes occupy %d bytes", n)
	}
	s.Request.Tasks[500].Payload.Message = make([]byte, 4000)
	back, err := decodeSubmission(encodeSubmission(s))
	if err != nil || !reflect.DeepEqual(back, s) {
		t.Fatalf("two payloads among 1000 tasks: %v", err)
	}
}

func TestCodecRefusesAnotherVersion(t *testing.T) {
	v := encodeSubmission(submission("k", 1))
	v[0] = valueVersion + 1
	if _, err := decodeSubmission(v); err == nil {
		t.Fatal("a submission of a later version was read")
	}
	if _, err := decodeEvents(nil, sched.JobID{}, []byte{valueVersion + 1}); err == nil {
		t.Fatal("records of a later version were read")
	}
}

// Whatever the bytes, a decoder ends with an error or with a value that encodes
// to something that decodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add(encodeSubmission(submission("key", 3)))
	f.Add(appendEvent([]byte{valueVersion}, &Record{Kind: TaskEnded, First: 3, Attempt: 1, Outcome: sched.Done, At: 9}))
	f.Add(encodeEnded(&Ended{Key: "k", At: 7}))
	f.Fuzz(func(t *testing.T, v []byte) {
		if s, err := decodeSubmission(v); err == nil {
			again, err := decodeSubmission(encodeSubmission(s))
			if err != nil || s.Request.AvgMillis == s.Request.AvgMillis && !reflect.DeepEqual(again, s) {
				t.Fatalf("submission %+v came back as %+v, %v", s, again, err)
			}
		}
		if list, err := decodeEvents(nil, sched.JobID{}, v); err == nil {
			b := []byte{valueVersion}
			for i := range list {
				b = appendEvent(b, &list[i])
			}
			if again, err := decodeEvents(nil, sched.JobID{}, b); err != nil || !reflect.DeepEqual(again, list) {
				t.Fatalf("records %+v came back as %+v, %v", list, again, err)
			}
		}
		if _, err := decodeEnded(v); err != nil {
			return
		}
	})
}

// A value that is cut, or in which a number stands for nothing, is refused.
func TestImpossibleValuesAreRefused(t *testing.T) {
	s := submission("k", 3)
	s.Request.Tasks[1].Payload.Sleep = 2 * time.Second // so that the tasks list their payloads
	v := encodeSubmission(s)
	for n := range v {
		if got, err := decodeSubmission(v[:n]); err == nil {
			t.Fatalf("%d of %d bytes were read as %+v", n, len(v), got)
		}
	}
	const class, listed = 2 + 16, 4 // the place of the class; the length of the form and of three indices
	if _, err := decodeSubmission(v); err != nil || v[class] != byte(s.Class) || v[len(v)-listed] != payloadListed {
		t.Fatalf("the value is another than this test knows: %x, %v", v, err)
	}
	for what, c := range map[string]struct {
		at   int
		byte byte
	}{
		"class":                             {class, sched.NumClasses},
		"form of payloads":                  {len(v) - listed, payloadListed + 1},
		"as many payloads as tasks, of two": {len(v) - listed, payloadOwn},
		"index of a payload":                {len(v) - 1, 2},
	} {
		bad := bytes.Clone(v)
		bad[c.at] = c.byte
		if got, err := decodeSubmission(bad); err == nil {
			t.Errorf("%s: %x was read as %+v", what, bad, got)
		}
	}
}
