package api

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Array are the indices of the tasks of a job: task k has the index First + k * Step. The zero
// Array is none.
type Array struct{ First, Step int64 }

// Index returns the index of a task.
func (a Array) Index(task int) int64 { return a.First + int64(task)*a.Step }

// GoString implements [fmt.GoStringer]: fingerprints of requests are made from it.
func (a Array) GoString() string { return fmt.Sprintf("{%d %d}", a.First, a.Step) }

// ParseArray reads the indices FIRST-LAST or FIRST-LAST:STEP, and returns how many there are. With
// %MOST behind them, at most that many tasks run at a time; most is 0 for no limit.
func ParseArray(text string) (a Array, n, most int, err error) {
	indices, limit, limited := strings.Cut(text, "%")
	problem := fmt.Errorf("%q is no range of indices; write FIRST-LAST or FIRST-LAST:STEP, such as 1-1000 or 0-90:10, and %%MOST behind them for at most so many at a time", text)
	span, step, stepped := strings.Cut(indices, ":")
	first, last, isSpan := strings.Cut(span, "-")
	if !isSpan || stepped && step == "" {
		return a, 0, 0, problem
	}
	var numbers [3]int64
	for i, digits := range [...]string{first, last, step} {
		if i == 2 && !stepped {
			numbers[i] = 1
			break
		}
		v, err := strconv.ParseUint(digits, 10, 31)
		if errors.Is(err, strconv.ErrRange) {
			return a, 0, 0, aboveLimit(text, digits)
		}
		if err != nil {
			return a, 0, 0, problem
		}
		numbers[i] = int64(v)
	}
	if numbers[2] == 0 || numbers[1] < numbers[0] {
		return a, 0, 0, problem
	}
	a = Array{First: numbers[0], Step: numbers[2]}
	count := (numbers[1]-numbers[0])/numbers[2] + 1
	if count > MaxTasks {
		return a, 0, 0, fmt.Errorf("%q are %d indices, more than the limit of %d tasks of a job; split it into several jobs", text, count, MaxTasks)
	}
	if limited {
		v, err := strconv.ParseUint(limit, 10, 31)
		if errors.Is(err, strconv.ErrRange) {
			return Array{}, 0, 0, aboveLimit(text, limit)
		}
		if err != nil || v == 0 {
			return Array{}, 0, 0, problem
		}
		most = int(v)
	}
	return a, int(count), most, nil
}

func aboveLimit(text, number string) error {
	return fmt.Errorf("%q has the number %s, above the limit of %d; write smaller ones, and let the program add the rest", text, number, math.MaxInt32)
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
	case a.First < 0 || a.Step < 1 || a.First > math.MaxInt32 || a.Step > math.MaxInt32 || a.Index(tasks-1) > math.MaxInt32:
		return fmt.Sprintf("the indices of its array, from %d in steps of %d, are not all within 0 to %d", a.First, a.Step, math.MaxInt32), "use smaller ones"
	}
	return "", ""
}
