package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/pflag"
)

// ownLimit is a flag's value whose refusal names its own limit.
type ownLimit interface{ NamesItsLimit() }

// durationForm is that of a duration, however long it is.
var durationForm = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

// TooLong reports whether a text has the form of a duration that no [time.Duration] can hold.
func TooLong(text string) bool {
	_, err := time.ParseDuration(text)
	return err != nil && durationForm.MatchString(text)
}

// longest is the longest duration in whole hours.
const longest = time.Duration(math.MaxInt64) / time.Hour

// ClearerFault returns why a flag refuses a value, nil where pflag says so well: of lists of numbers
// it repeats the words of the functions that it calls, and a duration that is too long it calls none.
func ClearerFault(e *pflag.InvalidValueError) error {
	number, isNumber := errors.AsType[*strconv.NumError](e)
	switch kind := e.GetFlag().Value.Type(); {
	case kind == "duration" && TooLong(e.GetValue()):
		if _, limit := e.GetFlag().Value.(ownLimit); limit {
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
	fault := ClearerFault(e)
	switch {
	case !may:
		return fmt.Errorf("invalid argument for \"--%s\" flag: %w", e.GetFlag().Name, cmp.Or(fault, e.Unwrap()))
	case fault != nil || shown != e.GetValue():
		return fmt.Errorf("invalid argument %q for \"--%s\" flag: %w", shown, e.GetFlag().Name, cmp.Or(fault, e.Unwrap()))
	}
	return e
}
