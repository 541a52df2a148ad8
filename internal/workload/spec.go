package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// spec holds the key=value arguments of a generator. A generator reads
// every key that it has, with its default, and then calls err, which refuses the keys
// that were not read.
type spec struct {
	doing  string // what fails, to begin an error with
	full   string // as the user wrote it
	given  []pair
	known  []string
	failed error
}

type pair struct {
	key, value string
	used       bool
}

func parseSpec(doing, full, arguments string) *spec {
	s := &spec{doing: doing, full: full}
	for part := range strings.SplitSeq(arguments, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			s.failf("%q has no value; write %s=VALUE", part, part)
			continue
		}
		if s.find(key) != nil {
			s.failf("key %q is given twice; leave one out", key)
			continue
		}
		s.given = append(s.given, pair{key: key, value: value})
	}
	return s
}

func (s *spec) find(key string) *pair {
	for i := range s.given {
		if s.given[i].key == key {
			return &s.given[i]
		}
	}
	return nil
}

// failf keeps the first fault.
func (s *spec) failf(format string, args ...any) {
	if s.failed == nil {
		s.failed = fmt.Errorf("cannot %s %s: %s (no job was run)", s.doing, s.full, fmt.Sprintf(format, args...))
	}
}

func (s *spec) value(key string) (string, bool) {
	s.known = append(s.known, key)
	p := s.find(key)
	if p == nil {
		return "", false
	}
	p.used = true
	return p.value, true
}

// whole reads an integer from least to most.
func (s *spec) whole(key string, def, least, most int) int {
	text, ok := s.value(key)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		s.failf("%s=%s is not a whole number from %d to %d; the default is %d", key, text, least, most, def)
		return def
	}
	return n
}

func (s *spec) seed() uint64 {
	text, ok := s.value("seed")
	if !ok {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.failf("seed=%s is not a whole number from 0 to 2^64-1; the default is 1", text)
	}
	return n
}

// number reads a float from least to most.
func (s *spec) number(key string, def, least, most float64) float64 {
	text, ok := s.value(key)
	if !ok {
		return def
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < least || x > most {
		s.failf("%s=%s is not a number from %g to %g; the default is %g", key, text, least, most, def)
		return def
	}
	return x
}

// duration reads a Go duration from 1 us to 1000 h, as nanoseconds.
func (s *spec) duration(key string, def time.Duration) float64 {
	text, ok := s.value(key)
	if !ok {
		return float64(def)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Microsecond || d > 1000*time.Hour {
		s.failf("%s=%s is not a duration from 1us to 1000h, such as 100ms; the default is %v", key, text, def)
		return float64(def)
	}
	return float64(d)
}

func (s *spec) flag(key string) bool {
	text, ok := s.value(key)
	if !ok {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		s.failf("%s=%s is not true or false; the default is false", key, text)
	}
	return on
}

// err returns the first fault, an unknown key among them.
func (s *spec) err() error {
	for _, p := range s.given {
		if !p.used {
			s.failf("it has no key %q; did you mean %q? Its keys are %s", p.key, nearest.Word(p.key, s.known), strings.Join(s.known, ", "))
		}
	}
	return s.failed
}
