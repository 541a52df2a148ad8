package api

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func twoTasks() *Request {
	return &Request{Key: "k", App: "a", Backend: BackendExec, Tasks: []Task{
		{ID: "0", Payload: Payload{Backend: BackendExec, Exec: &Exec{Argv: []string{"ls", "-l"}}}},
		{ID: "1", Payload: Payload{Backend: BackendExec, Exec: &Exec{Argv: []string{"ls", "-l"}}}},
	}}
}

// Every field of a request, including ones added later, is either made again for each
// try or distinguishes requests.
func TestEveryFieldOfARequestCounts(t *testing.T) {
	known := twoTasks()
	if d := twoTasks().Difference(known); d != "" || twoTasks().Fingerprint() != known.Fingerprint() {
		t.Fatalf("a repetition differs: %q", d)
	}
	for i := range reflect.TypeFor[Request]().NumField() {
		r := twoTasks()
		f := reflect.ValueOf(r).Elem().Field(i)
		name := reflect.TypeFor[Request]().Field(i).Name
		switch f.Kind() {
		case reflect.String:
			f.SetString("other")
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(7)
		case reflect.Struct:
			switch name {
			case "Trace":
				r.Trace.Traceparent = "other"
			case "Limits":
				r.Limits.Memory = MinMemory
			case "Array":
				r.Array = Array{First: 1, Step: 1}
			default:
				t.Fatalf("the test cannot change field %s", name)
			}
		case reflect.Slice:
			if name == "Tasks" {
				continue // below
			}
			r.After = []After{{Job: "other"}}
		default:
			t.Fatalf("the test cannot change field %s", name)
		}
		same := r.Difference(known) == ""
		if uncounted[name] != same || uncounted[name] != (r.Fingerprint() == known.Fingerprint()) {
			t.Errorf("with another %s: difference %q, same fingerprint %v", name, r.Difference(known), r.Fingerprint() == known.Fingerprint())
		}
	}
}

func TestDifferenceOfTasks(t *testing.T) {
	known := twoTasks()
	for want, change := range map[string]func(*Request){
		"it has 1 tasks instead of 2":                                         func(r *Request) { r.Tasks = r.Tasks[:1] },
		`task 1 has the id "x" instead of "1"`:                                func(r *Request) { r.Tasks[1].ID = "x" },
		`task 1 ("1") has another payload`:                                    func(r *Request) { r.Tasks[1].Payload.Exec.Argv[1] = "-a" },
		`task 0 ("0") has another payload`:                                    func(r *Request) { r.Tasks[0].Payload.Exec.Env = []string{"A=b"} },
		`its application is "b" instead of "a"`:                               func(r *Request) { r.App = "b" },
		`its user is "ann" instead of ""`:                                     func(r *Request) { r.User = "ann" },
		`its estimate is 1s instead of 0s`:                                    func(r *Request) { r.Estimate = time.Second },
		`its setting of limits is memory 2G, time limit 1m0s instead of none`: func(r *Request) { r.Limits = Limits{Memory: 2 << 30, Time: time.Minute} },
		`its restartable is true instead of fal`:                              func(r *Request) { r.Restartable = true },
	} {
		r := twoTasks()
		change(r)
		if d := r.Difference(known); !strings.HasPrefix(d, want) {
			t.Errorf("difference %q, want %q", d, want)
		}
		if r.Fingerprint() == known.Fingerprint() {
			t.Errorf("%s: the fingerprint is the same", want)
		}
	}
}

// A part that payloads share is counted once, and its memory is really shared.
func TestEqualPayloadsShareMemory(t *testing.T) {
	const big = 100_000
	r := &Request{Key: "k"}
	for i := range 10 {
		r.Tasks = append(r.Tasks, Task{ID: string(rune('a' + i)), Payload: Payload{Message: bytes.Repeat([]byte{byte(i % 2)}, big)}})
	}
	before := r.Fingerprint()
	n := r.Share()
	if n < 2*big || n > 2*big+jobBytes+10*(taskBytes+10) {
		t.Errorf("10 tasks with 2 distinct payloads of %d bytes are counted as %d", big, n)
	}
	for i := range r.Tasks {
		m := r.Tasks[i].Payload.Message
		if len(m) != big || m[0] != byte(i%2) || &m[0] != &r.Tasks[i%2].Payload.Message[0] {
			t.Errorf("task %d has a payload of its own or a wrong one", i)
		}
	}
	if r.Fingerprint() != before || r.Share() != n {
		t.Error("sharing changed the request")
	}
}
