package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/pflag"
)

// filledText is the text of a flag that is not empty where it is given: else a variable that a
// script has not set would select everything, as if the flag were not there.
type filledText struct {
	to   *string
	next string // what to give
}

// addFilledText adds the flag of such a text.
func addFilledText(fs *pflag.FlagSet, to *string, name, next, usage string) {
	fs.Var(&filledText{to, next}, name, usage)
}

func (f *filledText) String() string { return *f.to }

// Type implements [pflag.Value].
func (f *filledText) Type() string { return "string" }

// Set implements [pflag.Value].
func (f *filledText) Set(text string) error {
	if text == "" {
		return fmt.Errorf("it is empty; %s, or leave the flag out", f.next)
	}
	*f.to = text
	return nil
}

// onceText is a [filledText] that may be given once: of two values the first would be dropped, and
// nothing would say so.
type onceText struct {
	filledText
	given bool
}

// Set implements [pflag.Value].
func (o *onceText) Set(text string) error {
	if o.given {
		return fmt.Errorf("it was given already, as %.80q; %s", *o.to, o.next)
	}
	o.given = true
	return o.filledText.Set(text)
}

// mostDays is more than any command takes: they refuse what is longer than a hundred years.
const mostDays = 36_501

// parseAgo reads how long ago something was: a duration, or whole days (7d).
func parseAgo(text string) (time.Duration, error) {
	ago, err := time.ParseDuration(text)
	days, isDays := strings.CutSuffix(text, "d")
	if err == nil || !isDays {
		return ago, err
	}
	n, notNumber := strconv.Atoi(days)
	if notNumber != nil {
		return 0, err
	}
	return time.Duration(max(-mostDays, min(n, mostDays))) * 24 * time.Hour, nil
}

// agoFlag is a flag that [parseAgo] reads.
type agoFlag struct{ to *time.Duration }

func (f agoFlag) String() string { return f.to.String() }

// Type implements [pflag.Value].
func (f agoFlag) Type() string { return "duration" }

// Set implements [pflag.Value].
func (f agoFlag) Set(text string) error {
	ago, err := parseAgo(text)
	if err != nil {
		return errors.New(`must be a duration like "30s", or days like "7d"`)
	}
	*f.to = ago
	return nil
}

// durationForm is that of a duration, however long it is.
var durationForm = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

// tooLong reports whether a text has the form of a duration that no [time.Duration] can hold.
func tooLong(text string) bool {
	_, err := time.ParseDuration(text)
	return err != nil && durationForm.MatchString(text)
}

// longest is the longest duration in whole hours.
const longest = time.Duration(math.MaxInt64) / time.Hour

// clearerFault returns why a flag refuses a value, nil where pflag says so well: of lists of numbers
// it repeats the words of the functions that it calls, and a duration that is too long it calls none.
func clearerFault(e *pflag.InvalidValueError) error {
	number, isNumber := errors.AsType[*strconv.NumError](e)
	switch kind := e.GetFlag().Value.Type(); {
	case kind == "duration" && tooLong(e.GetValue()):
		if _, limit := e.GetFlag().Value.(*timeLimitFlag); limit {
			break // it names its own limit
		}
		return fmt.Errorf("it is too large; use %dh or less", longest)
	case !isNumber:
	case errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%q is too large", number.Num)
	case kind == "intSlice":
		return fmt.Errorf("%q is no whole number; write such numbers with commas between, as 60,40,20", number.Num)
	case kind == "float64Slice":
		return fmt.Errorf("%q is no number; write numbers with commas between, as 0.5,0.7,0.9", number.Num)
	}
	return nil
}

// explainValue returns an error of pflag about the value of a flag, with [clearerFault] and without
// secrets.
func explainValue(e *pflag.InvalidValueError) error {
	shown, may := config.RefusedFlag(e.GetFlag(), e.GetValue())
	fault := clearerFault(e)
	switch {
	case !may:
		return fmt.Errorf("invalid argument for \"--%s\" flag: %w", e.GetFlag().Name, cmp.Or(fault, e.Unwrap()))
	case fault != nil || shown != e.GetValue():
		return fmt.Errorf("invalid argument %q for \"--%s\" flag: %w", shown, e.GetFlag().Name, cmp.Or(fault, e.Unwrap()))
	}
	return e
}
