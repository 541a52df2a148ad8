package api

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Array are the indices of the tasks of a job: task k has the index First + k * Step, or the k-th
// of Indices. The zero Array is none.
type Array struct {
	First, Step int64
	// Indices has indices and ranges of them, in the order of the tasks: "1,3,5-9,20-90:10". "" for one
	// range. With a set, First and Step are those of noRange.
	Indices string
	// Numbers is set when the indices are the numbers that the tasks had in an earlier job: their
	// processes find them as their numbers.
	Numbers bool
}

// noRange has the first index of an array with Indices, which versions refuse that know ranges only.
var noRange = Array{First: -1, Step: 1}

// MaxIndices bounds the bytes of Indices: it travels with each launch.
const MaxIndices = 16 << 10

// Index returns the index of a task.
func (a Array) Index(task int) int64 {
	k := int64(task)
	if a.Indices == "" {
		return a.First + k*a.Step
	}
	for text := range strings.SplitSeq(a.Indices, ",") {
		s, err := parseRange(text)
		if err != nil || k < s.count() {
			return s.first + k*s.step
		}
		k -= s.count()
	}
	return noRange.First // the task is not of this array
}

// Subset returns the array of some tasks of this one, in their order. The zero array stands for the
// numbers of the tasks.
func (a Array) Subset(tasks []int) (Array, error) {
	of := a
	if a == (Array{}) {
		of = Array{Step: 1}
	}
	var set strings.Builder
	for i := 0; i < len(tasks); {
		first := of.Index(tasks[i])
		n := 1
		for i+n < len(tasks) && of.Index(tasks[i+n]) == first+int64(n) {
			n++
		}
		if i > 0 {
			set.WriteByte(',')
		}
		set.WriteString(strconv.FormatInt(first, 10))
		if n > 1 {
			fmt.Fprintf(&set, "-%d", first+int64(n)-1)
		}
		if i += n; set.Len() > MaxIndices {
			return Array{}, fmt.Errorf("%d indices in no order need more than %d bytes, the limit; submit them in several jobs (--array)", len(tasks), MaxIndices)
		}
	}
	sub := noRange
	sub.Indices, sub.Numbers = set.String(), a == (Array{})
	return sub, nil
}

// GoString implements [fmt.GoStringer]: fingerprints of requests are made from it.
func (a Array) GoString() string {
	if a.Indices == "" {
		return fmt.Sprintf("{%d %d}", a.First, a.Step)
	}
	return fmt.Sprintf("{%q %t}", a.Indices, a.Numbers)
}

// indexRange is a part of an array.
type indexRange struct{ first, last, step int64 }

func (r indexRange) count() int64 { return (r.last-r.first)/r.step + 1 }

var errRange = errors.New("no range")

// parseRange reads N, FIRST-LAST or FIRST-LAST:STEP.
func parseRange(text string) (r indexRange, err error) {
	span, step, stepped := strings.Cut(text, ":")
	first, last, isSpan := strings.Cut(span, "-")
	if !isSpan {
		last = first
	}
	if !stepped {
		step = "1"
	}
	for _, part := range []struct {
		digits string
		to     *int64
	}{{first, &r.first}, {last, &r.last}, {step, &r.step}} {
		v, err := strconv.ParseUint(part.digits, 10, 31)
		if errors.Is(err, strconv.ErrRange) {
			return indexRange{step: 1}, aboveLimit(text, part.digits)
		}
		if err != nil {
			return indexRange{step: 1}, errRange
		}
		*part.to = int64(v)
	}
	if r.step == 0 || r.last < r.first || stepped && !isSpan {
		return indexRange{step: 1}, errRange
	}
	return r, nil
}

// ParseArray reads indices and ranges of them, FIRST-LAST or FIRST-LAST:STEP, with commas between, and
// returns how many there are. With %MOST behind them, at most that many tasks run at a time; most is
// 0 for no limit.
func ParseArray(text string) (a Array, n, most int, err error) {
	indices, limit, limited := strings.Cut(text, "%")
	problem := fmt.Errorf("%q is no range of indices; write FIRST-LAST or FIRST-LAST:STEP, such as 1-1000 or 0-90:10, or several with commas between (1,3,5-9), and %%MOST behind them for at most so many at a time", clipped(text))
	if len(indices) > MaxIndices {
		return a, 0, 0, fmt.Errorf("the indices have %d bytes, more than the limit of %d; write ranges, or split them into several jobs", len(indices), MaxIndices)
	}
	var ranges []indexRange
	count := int64(0)
	for part := range strings.SplitSeq(indices, ",") {
		r, err := parseRange(part)
		if errors.Is(err, errRange) {
			return a, 0, 0, problem
		} else if err != nil {
			return a, 0, 0, err
		}
		ranges = append(ranges, r)
		count += r.count()
	}
	if count > MaxTasks {
		return a, 0, 0, fmt.Errorf("%q are %d indices, more than the limit of %d tasks of a job; split it into several jobs", clipped(text), count, MaxTasks)
	}
	seen := map[int64]bool{}
	for _, r := range ranges {
		for i := r.first; len(ranges) > 1 && i <= r.last; i += r.step {
			if seen[i] {
				return a, 0, 0, fmt.Errorf("%q has the index %d twice, and one job runs it once; leave one of them out", clipped(text), i)
			}
			seen[i] = true
		}
	}
	if limited {
		v, err := strconv.ParseUint(limit, 10, 31)
		if errors.Is(err, strconv.ErrRange) {
			return a, 0, 0, aboveLimit(text, limit)
		}
		if err != nil || v == 0 {
			return a, 0, 0, problem
		}
		most = int(v)
	}
	a = Array{First: ranges[0].first, Step: ranges[0].step}
	if len(ranges) > 1 {
		a = noRange
		a.Indices = indices
	}
	return a, int(count), most, nil
}

func aboveLimit(text, number string) error {
	return fmt.Errorf("%q has the number %s, above the limit of %d; write smaller ones, and let the program add the rest", clipped(text), number, math.MaxInt32)
}

// equal reports whether both are the same indices; nil are none.
func (a *Array) equal(o *Array) bool {
	if a == nil || o == nil {
		return a == o
	}
	return *a == *o
}

// fault returns what is wrong with the indices of that many tasks, "" when nothing is.
func (a Array) fault(b Backend, tasks int) (what, next string) {
	switch {
	case a == Array{}:
		return "", ""
	case b != BackendExec:
		return "it has an array of indices, which only processes find in their environment", "leave the array out, or use the exec backend"
	case a.Indices != "":
		if _, n, most, err := ParseArray(a.Indices); err != nil || n != tasks || most != 0 {
			return fmt.Sprintf("its indices are not one for each of its %d tasks, such as 1,3,5-9", tasks), "give as many indices as tasks"
		}
		return "", ""
	case a.Numbers:
		return "its array has no indices, and they are to be the numbers of an earlier job's tasks", "give them"
	case a.First < 0 || a.Step < 1 || a.First > math.MaxInt32 || a.Step > math.MaxInt32 || a.Index(tasks-1) > math.MaxInt32:
		return fmt.Sprintf("the indices of its array, from %d in steps of %d, are not all within 0 to %d", a.First, a.Step, math.MaxInt32), "use smaller ones"
	}
	return "", ""
}
