package api

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"strings"
)

// Two requests with one key are one job, and must therefore ask for the same work. What a
// client makes anew for each try does not count: the key itself, the frontend that it asks
// and the trace. Who submits is compared where callers are known, not here.

// uncounted are the fields of a request that are not compared as settings.
var uncounted = map[string]bool{"Key": true, "Frontend": true, "Trace": true, "Tasks": true, "Submitter": true}

// words are the names of the settings in a refusal, where they differ from those of the
// fields in small letters.
var words = map[string]string{
	"App": "application", "UserGroup": "user's group", "EstimateSet": "setting of an estimate", "AvgMillis": "avgTasksExecDuration", "HT": "isHT", "MaxDisconnect": "max_disconnect", "Limits": "setting of limits", "After": "list of jobs after which it starts", "Array": "array of indices", "MaxRunning": "max_running", "NoSuspend": "no_suspend", "Stage": "list of staged files",
}

// setting is one field of a request other than its tasks.
type setting struct {
	field string
	value any
}

// settings returns the settings that are not zero, so that a field that is added later
// changes no fingerprint of a request without it.
func (r *Request) settings() []setting {
	v := reflect.ValueOf(r).Elem()
	list := make([]setting, 0, 8)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && !uncounted[v.Type().Field(i).Name] {
			list = append(list, setting{v.Type().Field(i).Name, f.Interface()})
		}
	}
	return list
}

// Fingerprint returns 16 bytes that are equal for requests for the same work and, but for
// an accident of one in 2^64, for no others. The tasks must have their ids.
func (r *Request) Fingerprint() string {
	h := sha256.New()
	for _, s := range r.settings() {
		_, _ = fmt.Fprintf(h, "%s=%#v\n", s.field, s.value) // a hash takes everything
	}
	var b []byte
	for i := range r.Tasks {
		t := &r.Tasks[i]
		b = appendText(b[:0], t.ID)
		if i > 0 && t.Payload.Equal(&r.Tasks[i-1].Payload) {
			_, _ = h.Write(append(b, 0))
			continue
		}
		_, _ = h.Write(append(b, 1))
		t.Payload.write(h)
	}
	return string(h.Sum(nil)[:16])
}

// write writes the payload in a form that no other payload has.
func (p *Payload) write(h hash.Hash) {
	b := appendText(nil, string(p.Backend))
	b = binary.AppendVarint(b, int64(p.Sleep))
	b = binary.AppendUvarint(b, uint64(len(p.Message)))
	_, _ = h.Write(b)
	_, _ = h.Write(p.Message)
	b = b[:0]
	if e := p.Exec; e != nil {
		for _, list := range [...][]string{{e.Dir}, e.Argv, e.Env} {
			b = binary.AppendUvarint(b, uint64(len(list)))
			for _, s := range list {
				b = appendText(b, s)
			}
		}
		if len(e.Script) > 0 || e.Stdin { // requests of before scripts keep their fingerprint
			b = appendText(b, string(e.Script))
		}
		if e.Stdin { // likewise
			b = append(b, 1)
		}
	}
	_, _ = h.Write(b)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Difference returns the first thing in which the request asks for other work than a known
// one, "" when there is none: "it has 6 tasks instead of 4".
func (r *Request) Difference(known *Request) string {
	if len(r.Tasks) != len(known.Tasks) {
		return OtherTasks(len(r.Tasks), len(known.Tasks))
	}
	now, then := map[string]any{}, map[string]any{}
	for _, s := range r.settings() {
		now[s.field] = s.value
	}
	for _, s := range known.settings() {
		then[s.field] = s.value
	}
	for f := range reflect.TypeFor[Request]().Fields() {
		if !reflect.DeepEqual(now[f.Name], then[f.Name]) {
			zero := reflect.Zero(f.Type).Interface()
			return fmt.Sprintf("its %s is %s instead of %s", wordOf(f.Name), shown(now[f.Name], zero), shown(then[f.Name], zero))
		}
	}
	for i := range r.Tasks {
		t, k := &r.Tasks[i], &known.Tasks[i]
		switch {
		case t.ID != k.ID:
			return fmt.Sprintf("task %d has the id %q instead of %q", i, t.ID, k.ID)
		case !t.Payload.Equal(&k.Payload):
			return fmt.Sprintf("task %d (%q) has another payload", i, t.ID)
		}
	}
	return ""
}

// OtherTasks returns the difference of two requests with different numbers of tasks.
func OtherTasks(now, then int) string { return fmt.Sprintf("it has %d tasks instead of %d", now, then) }

func wordOf(field string) string {
	if w := words[field]; w != "" {
		return w
	}
	return strings.ToLower(field)
}

// shown returns a setting for a refusal; v is nil for a setting that is zero.
func shown(v, zero any) string {
	if v == nil {
		v = zero
	}
	if reflect.TypeOf(v).Kind() == reflect.String {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return fmt.Sprint(v)
}
