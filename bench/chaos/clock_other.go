//go:build !linux

package chaos

import "time"

// now returns ns of the wall clock.
func now() int64 { return time.Now().UnixNano() }
