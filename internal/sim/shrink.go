package sim

import (
	"context"
	"slices"
)

// Shrink searches for a smaller run that still violates a check: with fewer kinds of
// faults, fewer planned faults, and fewer first jobs than the given number. first returns
// the jobs of the run of so many first jobs, nil when there is no such run: where arrivals are
// scaled to a load, they depend on that number.
func Shrink(ctx context.Context, first func(count int) []Job, count int, cfg Config, f Faults) (int, Faults) {
	f.Log = nil
	jobs := first(count)
	violates := func(jobs []Job, f Faults) *Report {
		if len(jobs) == 0 {
			return nil
		}
		r, err := RunWithFaults(ctx, jobs, cfg, f)
		if err != nil || r.Violated() == nil {
			return nil
		}
		return r
	}
	for _, kind := range f.Kinds.Each() {
		less := f
		less.Kinds &^= kind
		if violates(jobs, less) != nil {
			f = less
		}
	}
	if r := violates(jobs, f); r != nil && len(r.Faults) > 0 {
		f.Only = fewer(r.Faults, func(only []int) bool {
			less := f
			less.Only = only
			return violates(jobs, less) != nil
		})
	}
	for step := count / 2; step > 0; {
		if less := count - step; less > 0 && violates(first(less), f) != nil {
			count = less
		} else {
			step /= 2
		}
	}
	return count, f
}

// fewer removes parts of the list, large ones first, while does still reports true for
// the rest.
func fewer(list []int, does func([]int) bool) []int {
	for part := max(1, len(list)/2); ; part /= 2 {
		for at := 0; at < len(list); {
			less := slices.Delete(slices.Clone(list), at, min(at+part, len(list)))
			if len(less) > 0 && does(less) {
				list = less
			} else {
				at += part
			}
		}
		if part == 1 {
			return list
		}
	}
}
