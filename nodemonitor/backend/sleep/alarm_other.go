//go:build !linux

package sleep

// newAlarm gives the most exact alarm there is.
func newAlarm() Alarm { return newTimerAlarm() }
