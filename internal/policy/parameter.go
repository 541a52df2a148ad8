package policy

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// parameter is a key that a user can set, and how its value is read.
type parameter struct {
	key string
	set func(value string) error
}

// weight is W of Pigeon's section 3.3.
func weight(p *sched.Params) parameter {
	return parameter{"weight", func(value string) (err error) {
		if p.Weight, err = strconv.Atoi(value); err != nil || p.Weight < 0 {
			return fmt.Errorf("use a whole number: 0 (infinite: short tasks always first) or more")
		}
		return nil
	}}
}

// reserved is the share of each group's slots that serve short tasks only.
func reserved(p *sched.Params) parameter {
	return parameter{"reserved", func(value string) (err error) {
		if p.Reserved, err = strconv.ParseFloat(value, 64); err != nil || !isShare(p.Reserved) {
			return fmt.Errorf("use a share from 0 to below 1, such as 0.1")
		}
		return nil
	}}
}

func isShare(x float64) bool { return x >= 0 && x < 1 } // not so for NaN

// number sets a decimal number from least to most.
func number(key string, at *float64, least, most float64) parameter {
	return parameter{key, func(value string) (err error) {
		if *at, err = strconv.ParseFloat(value, 64); err != nil || !(*at >= least && *at <= most) {
			return fmt.Errorf("use a number from %v to %v", least, most)
		}
		return nil
	}}
}

// whole sets a whole number from least to most.
func whole(key string, at *int, least, most int) parameter {
	return parameter{key, func(value string) (err error) {
		if *at, err = strconv.Atoi(value); err != nil || *at < least || *at > most {
			return fmt.Errorf("use a whole number from %d to %d", least, most)
		}
		return nil
	}}
}

// choice sets a yes or no.
func choice(key string, at *bool) parameter {
	return parameter{key, func(value string) error {
		switch value {
		case "yes", "true":
			*at = true
		case "no", "false":
			*at = false
		default:
			return fmt.Errorf("use yes or no")
		}
		return nil
	}}
}

// either sets one of two words; the second one is true.
func either(key string, at *bool, no, yes string) parameter {
	return parameter{key, func(value string) error {
		if value != no && value != yes {
			return fmt.Errorf("use %s or %s", no, yes)
		}
		*at = value == yes
		return nil
	}}
}

// span sets a length of time above zero.
func span(key string, at *sched.Time) parameter {
	return spanFrom(key, at, 1, "above zero")
}

// spanFrom sets a length of time from least on, which words say.
func spanFrom(key string, at *sched.Time, least sched.Time, words string) parameter {
	return parameter{key, func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || sched.Time(d) < least || d > math.MaxInt64/4 {
			return fmt.Errorf("use a duration %s, such as 50ms or 2s", words)
		}
		*at = sched.Time(d)
		return nil
	}}
}
