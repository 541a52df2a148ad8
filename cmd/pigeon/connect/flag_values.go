package connect

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// filledText is the text of a flag that is not empty where it is given: else a variable that a
// script has not set would select everything, as if the flag were not there.
type filledText struct {
	to   *string
	next string // what to give
}

// AddFilledText adds the flag of such a text.
func AddFilledText(fs *pflag.FlagSet, to *string, name, next, usage string) {
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

// AddOnceText adds the flag of such a text.
func AddOnceText(fs *pflag.FlagSet, to *string, name, next, usage string) {
	fs.Var(&onceText{filledText: filledText{to, next}}, name, usage)
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

// ParseAgo reads how long ago something was: a duration, or whole days (7d).
func ParseAgo(text string) (time.Duration, error) {
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

// agoFlag is a flag that [ParseAgo] reads.
type agoFlag struct{ to *time.Duration }

// AddAgo adds such a flag.
func AddAgo(fs *pflag.FlagSet, to *time.Duration, name, usage string) {
	fs.Var(agoFlag{to}, name, usage)
}

func (f agoFlag) String() string { return f.to.String() }

// Type implements [pflag.Value].
func (f agoFlag) Type() string { return "duration" }

// Set implements [pflag.Value].
func (f agoFlag) Set(text string) error {
	ago, err := ParseAgo(text)
	if err != nil {
		return errors.New(`must be a duration like "30s", or days like "7d"`)
	}
	*f.to = ago
	return nil
}
