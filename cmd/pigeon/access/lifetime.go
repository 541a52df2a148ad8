package access

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// lifetime is the value of a flag that is a duration which people count in days: "30d", "1d12h",
// "90m".
type lifetime time.Duration

func (l *lifetime) Type() string { return "duration" }

// String shows whole days as such.
func (l *lifetime) String() string {
	d := time.Duration(*l)
	switch days := d / (24 * time.Hour); {
	case d == 0:
		return "0"
	case days > 0 && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", days)
	}
	return d.String()
}

// Set reads a number of days and what Go takes for a duration, or one of them.
func (l *lifetime) Set(s string) error {
	before, after, found := strings.Cut(s, "d")
	if !found {
		before, after = "0", s
	}
	days, err := strconv.Atoi(before)
	var rest time.Duration
	if err == nil && after != "" && after != "0" {
		rest, err = time.ParseDuration(after)
	}
	if err != nil || s == "" || days < 0 || rest < 0 || days > int(math.MaxInt64/(24*time.Hour))-1 {
		return errors.New("use days and hours above zero, such as 30d, 12h or 1d12h")
	}
	*l = lifetime(time.Duration(days)*24*time.Hour + rest)
	return nil
}
