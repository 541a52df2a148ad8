package classes

import (
	"fmt"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// describe returns from what an estimate was learned.
func (s *summary) describe(j *Job) string {
	of := fmt.Sprintf("the last %d jobs of %s, in half of which a task took no longer on average (from %s to %s)", s.jobs, j.describe(), seconds(s.least), seconds(s.most))
	if s.jobs == 1 {
		of = fmt.Sprintf("one job of %s, in which a task took %s on average", j.describe(), seconds(s.median))
	}
	if s.failures > 0 {
		of += "; " + sched.Count(int(s.failures), "task of this work has failed, which does not count", "tasks of this work have failed, which do not count")
	}
	return "learned from " + of
}

// describe names the work and its owner.
func (j *Job) describe() string {
	if j.Work == "" {
		return "jobs without a name of " + ownerWords(j.Owner)
	}
	return fmt.Sprintf("%q of %s", j.Work, ownerWords(j.Owner))
}

func ownerWords(owner string) string {
	if owner == "" {
		return "nobody in particular"
	}
	return fmt.Sprintf("owner %q", owner)
}

func side(c sched.Class) string {
	if c == sched.Short {
		return "within"
	}
	return "above"
}

func seconds(t sched.Time) string { return number(t.Seconds()) + " s" }

// number writes a number with three significant digits.
func number(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64) // it was just formatted
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
