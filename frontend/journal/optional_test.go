package journal

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// eachField calls f once for each field below v, while that field alone is set.
func eachField(t *testing.T, v reflect.Value, path string, f func(path string)) {
	t.Helper()
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachField(t, v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
		return
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		eachField(t, v.Elem(), path, f)
		v.Set(was)
		return
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		eachField(t, v.Index(0), path, f)
		v.Set(was)
		return
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		t.Fatalf("no value for %s of type %s: extend this test", path, v.Type())
	}
	f(path)
	v.Set(was)
}

// Each field of a job and of what is kept of it comes back, also one that a later change adds,
// but for those that are not journaled.
func TestEveryFieldIsKept(t *testing.T) {
	isKept := func(path string) bool {
		return !slices.ContainsFunc([]string{
			"job.Bytes", "job.Ended", "job.Bounded", "job.Request.Frontend",
			// The frontend sets these when it sends the payload.
			"job.Request.Tasks.Payload.Limits", "job.Request.Tasks.Payload.Submitter", "job.Request.Tasks.Payload.Array", "job.Request.Tasks.Payload.Stage",
		}, func(field string) bool { return path == field || strings.HasPrefix(path, field+".") })
	}
	s := &Submission{Request: api.Request{Tasks: []api.Task{}}}
	eachField(t, reflect.ValueOf(s).Elem(), "job", func(path string) {
		got, err := decodeSubmission(encodeSubmission(s))
		if back := reflect.DeepEqual(got, s); err != nil || back != isKept(path) {
			t.Errorf("%s comes back: %v (%v), want %v", path, back, err, isKept(path))
		}
	})
	e := &Ended{}
	eachField(t, reflect.ValueOf(e).Elem(), "ended job", func(path string) {
		if strings.HasPrefix(path, "ended job.Stopped.") {
			return // under keys of their own
		}
		if got, err := decodeEnded(encodeEnded(e)); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s does not come back: %+v, %v", path, got, err)
		}
	})
}

// The numbers of optional fields are fixed, as the bytes of version 1 are: later programs read
// what this one writes.
func TestOptionalNumbersAreFixed(t *testing.T) {
	s := &Submission{Origin: 1, Estimate: 1, Fingerprint: "f", Shared: true, Request: api.Request{
		UserGroup: "g", Priority: 1, MaxDisconnect: 1, Owner: "o", Name: "n", Limits: api.Limits{Memory: 1, CPUs: 0.5, Time: 1}, Submitter: "s",
		After: []api.After{{Job: "j", Any: true}}, Array: api.Array{First: -1, Step: 1, Indices: "1,3", Numbers: true}, MaxRunning: 1, Stage: []api.StagedFile{{Name: "n", SHA256: "a", Size: 1, Executable: true}},
		Tasks: []api.Task{
			{Payload: api.Payload{Exec: &api.Exec{Argv: []string{"a"}, Env: []string{"e"}, Dir: "d", Script: []byte("s"), Stdin: true}}},
			{Payload: api.Payload{Message: []byte("m")}}, {Payload: api.Payload{Message: []byte("m")}},
		},
	}}
	e := &Ended{Fingerprint: "f", Results: []byte("r"), Earlier: []byte("e"), Times: []byte("t"), Trace: api.Trace{Traceparent: "p", Tracestate: "s"},
		Usage:  Usage{Slot: 1, Lost: 2, Again: 3, Started: true, Wait: 4, LongestWait: 5},
		Status: api.Status{Owner: "o", Priority: 1, Name: "n", Submitter: "s", Released: 0.5, Command: "c"}}
	r := &Record{Kind: NewAttempt, First: 1, Attempt: 2, Losses: 3, Retries: 4, Outcome: sched.Failed, Reason: "r", Exit: 5, Code: "c", Began: 6, Elapsed: 7, Node: "n"}
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"job": {encodeSubmission(s), "012a0000000000000000000000000000000000000000000000000000000000000000000000000000" + "03000000" +
			"0200000004ffffffffffffffffff010101610101650164017301" + "00016d0000" + "02000101" +
			"01020167" + "020102" + "03020166" + "040102" + "0502016f" + "0602016e" + "070101" + "080102" + "090101" + "0a0102" + "0b083fe0000000000000" +
			"0c0102" + "0d020173" + "0e0401016a01" + "0f020102" + "100101" + "110701016e01610201" + "180403312c33" + "190101"},
		"ended job": {encodeEnded(e), "01" + strings.Repeat("00", 52) +
			"01020166" + "0202016f" + "030102" + "0402016e" + "05020172" + "06020173" + "07020165" + "08083fe0000000000000" + "09020163" + "0c0401700173" + "0d060204080a0301" + "0e020174"},
		"failure": {appendEvent(nil, r), "0301020304020172" + "0f11" + "010105" + "02020163" + "03010c" + "04010e" + "0502016e"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
