package workload

import (
	"bytes"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A line of a trace may end with fields that the published format does not have. In an
// owner the characters that separate words, and %, are written as in a URL: %20, %25.
const (
	ownerField    = "owner="
	priorityField = "priority="
	slotsField    = "slots="
	gangField     = "gang=yes"
)

func (j *Job) fields() bool { return j.Owner != "" || j.Priority != 0 || j.Slots != 0 || j.Gang }

// appendFields appends the fields of a job that has some to an empty line.
func (j *Job) appendFields(dst []byte) []byte {
	if j.Owner != "" {
		dst = append(dst, ownerField...)
		for i := range len(j.Owner) {
			if c := j.Owner[i]; isSpace(c) || c == '%' {
				dst = fmt.Appendf(dst, "%%%02X", c)
			} else {
				dst = append(dst, c)
			}
		}
	}
	field := func(set bool, name string, value int32) {
		if set {
			if len(dst) > 0 {
				dst = append(dst, ' ')
			}
			dst = strconv.AppendInt(append(dst, name...), int64(value), 10)
		}
	}
	field(j.Priority != 0, priorityField, j.Priority)
	field(j.Slots != 0, slotsField, j.Slots)
	if j.Gang {
		if len(dst) > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, gangField...)
	}
	return dst
}

// given are the fields that a line has had so far.
type given struct{ owner, priority, slots bool }

// field reads one field behind the durations.
func (r *Reader) field(t token, job *Job, count int, had *given) error {
	if text, ok := bytes.CutPrefix(t.text, []byte(ownerField)); ok {
		if had.owner {
			return r.fault(t, "one owner of a job, which the line has had")
		}
		had.owner = true
		owner, err := url.PathUnescape(string(text))
		if err == nil {
			err = api.CheckOwner(owner)
		}
		if err != nil || owner == "" {
			return r.fault(t, "an owner such as owner=team/alice (at most 8 levels, 255 bytes; a space is %20)")
		}
		job.Owner = owner
		return nil
	}
	if text, ok := bytes.CutPrefix(t.text, []byte(priorityField)); ok {
		if had.priority {
			return r.fault(t, "one priority of a job, which the line has had")
		}
		had.priority = true
		n, err := strconv.ParseInt(string(text), 10, 32)
		if err != nil {
			return r.fault(t, fmt.Sprintf("a priority such as priority=3, a whole number from %d to %d", math.MinInt32, math.MaxInt32))
		}
		job.Priority = int32(n)
		return nil
	}
	if text, ok := bytes.CutPrefix(t.text, []byte(slotsField)); ok {
		n, err := strconv.ParseInt(string(text), 10, 32)
		if err != nil || n < 1 || n > sched.MaxSlots || had.slots {
			return r.fault(t, fmt.Sprintf("the slots of each task, once, such as slots=4, a whole number from 1 to %d", sched.MaxSlots))
		}
		job.Slots, had.slots = int32(n), true
		return nil
	}
	if string(t.text) == gangField && !job.Gang {
		job.Gang = true
		return nil
	}
	return r.fault(t, fmt.Sprintf("the end of the line after %d task durations, the count in column 2 (or owner=PATH, priority=N, slots=N, gang=yes)", count))
}
