package request

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/pflag"
)

// addLimitFlags adds the flags for the resources that each task of a job may use.
func addLimitFlags(fs *pflag.FlagSet, j *Flags) {
	fs.Var(&j.memory, "memory", "memory of each task, such as 2G (default: the node's)")
	fs.Var(&j.cpus, "cpus", "processors of each task, such as 1.5 (default: the node's)")
	fs.Var(&j.timeLimit, "time-limit", "how long each task may run: 10m, or [D-]HH:MM:SS")
}

// limits returns the limits of each task.
func (j *Flags) limits() api.Limits {
	return api.Limits{Memory: int64(j.memory), CPUs: float64(j.cpus), Time: time.Duration(j.timeLimit)}
}

// bytesFlag is a size in bytes.
type bytesFlag int64

func (b *bytesFlag) String() string {
	if *b == 0 {
		return ""
	}
	return api.FormatBytes(int64(*b))
}

// Type implements [pflag.Value].
func (b *bytesFlag) Type() string { return "size" }

// Set implements [pflag.Value].
func (b *bytesFlag) Set(text string) error {
	n, err := api.ParseBytes(text)
	switch {
	case err == nil && n == 0:
		err = errors.New("a task needs some memory; leave the flag out for no limit")
	case n > api.MaxMemory || errors.Is(err, api.ErrSizeTooLarge):
		return fmt.Errorf("%q is too large; use %s or less", text, api.FormatBytes(api.MaxMemory))
	}
	*b = bytesFlag(n)
	return err
}

// cpusFlag is a number of processors. 0 is refused where it is given, since it would be no limit.
type cpusFlag float64

func (c *cpusFlag) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*c), 'g', -1, 64)
}

// Type implements [pflag.Value].
func (c *cpusFlag) Type() string { return "float64" }

// Set implements [pflag.Value]. The limits of the number are those of a request.
func (c *cpusFlag) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no number of processors; write one such as 1.5", text)
	case n == 0:
		return fmt.Errorf("a task needs some of a processor; use %g to %d, or leave it out for no limit", api.MinCPUs, api.MaxCPUs)
	}
	*c = cpusFlag(n)
	return nil
}

// timeLimitFlag is a duration, as Go or Slurm writes it.
type timeLimitFlag time.Duration

func (l *timeLimitFlag) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements [pflag.Value].
// NamesItsLimit implements [cli.OwnLimit].
func (l *timeLimitFlag) NamesItsLimit() {}

func (l *timeLimitFlag) Type() string { return "duration" }

// Set implements [pflag.Value].
func (l *timeLimitFlag) Set(text string) error {
	d, err := parseTimeLimit(text)
	*l = timeLimitFlag(d)
	return err
}

// parseTimeLimit reads 90s, 1h30m, MM:SS, HH:MM:SS and D-HH[:MM[:SS]]. A number alone is refused:
// Slurm reads it as minutes, timeout(1) as seconds.
func parseTimeLimit(text string) (time.Duration, error) {
	problem := fmt.Errorf("%q is no time limit; write 90s, 10m, 1h30m, or [D-]HH:MM:SS", text)
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, fmt.Errorf("%q has no unit; write %[1]ss for seconds or %[1]sm for minutes", text)
	}
	if cli.TooLong(text) {
		return 0, fmt.Errorf("%q is too large; use %v or less", text, api.MaxTimeLimit)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		days, clock, hasDays := strings.Cut(text, "-")
		if !hasDays {
			days, clock = "0", text
		}
		units := []time.Duration{time.Hour, time.Minute, time.Second}
		parts := strings.Split(clock, ":")
		switch {
		case len(parts) > len(units) || !hasDays && len(parts) < 2:
			return 0, problem
		case !hasDays:
			units = units[len(units)-len(parts):]
		}
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, problem
		}
		d = time.Duration(n) * 24 * time.Hour
		for i, part := range parts {
			n, err := strconv.ParseUint(part, 10, 16)
			if err != nil {
				return 0, problem
			}
			d += time.Duration(n) * units[i]
		}
	}
	if d <= 0 {
		return 0, fmt.Errorf("%q leaves a task no time; leave the flag out for no limit", text)
	}
	return d, nil
}
