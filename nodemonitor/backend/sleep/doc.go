// Package sleep is the backend whose tasks only pass time: they measure the
// scheduler and stand for real work in experiments.
//
// All sleeps are in one heap by due time; one goroutine with one alarm ends them. A sleep of no length is done inside Start.
//
// # Exactness
//
// The runtime waits for its timers in epoll_wait, whose unit is a millisecond,
// so a Go timer fires about 1 ms late on an idle process. The alarm is therefore
// a timerfd where there is one: readable at the nanosecond the kernel's timer
// fires, and seen by the same epoll_wait. Inside testing/synctest, or where there
// is no timerfd, [WithTimer] selects the Go timer.
package sleep
