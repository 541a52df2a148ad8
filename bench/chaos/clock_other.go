//go:build !linux

package chaos

import "time"

// Now returns ns of the wall clock.
func Now() int64 { return time.Now().UnixNano() }
