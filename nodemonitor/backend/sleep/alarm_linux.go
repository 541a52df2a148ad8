package sleep

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fdAlarm is an Alarm on a timerfd, which the runtime's poller sees to the
// microsecond while its own timers are rounded to milliseconds.
type fdAlarm struct{ file *os.File }

// newAlarm returns the most exact alarm there is; without a descriptor to spare
// that is a Go timer.
func newAlarm() Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimerAlarm()
	}
	return &fdAlarm{file: os.NewFile(uintptr(fd), "sleep-alarm")}
}

func (a *fdAlarm) Set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))} // 0 would disarm it
	raw, err := a.file.SyscallConn()
	if err != nil {
		return // stopped
	}
	// Control fails only on a closed file and the call only on a bad argument.
	_ = raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

func (a *fdAlarm) Wait() bool {
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err == nil
}

func (a *fdAlarm) Stop() { _ = a.file.Close() } // a second close is refused and harmless
