//go:build !linux

package sleep

// newAlarm returns the most exact alarm there is.
func newAlarm() Alarm { return newTimerAlarm() }
