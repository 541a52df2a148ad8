// Package model is the queueing model of section 3 of the Pigeon paper:
// how likely a job is to be served without any queueing, and how long a task waits.
//
// A group is an M/M/N queue: N workers, Poisson arrivals of tasks (a job brings a
// group at most one task when it has fewer tasks than there are groups),
// exponential durations. Sparrow's queueing time, which the paper leaves out, is derived here
// from the same premises. Probabilities are in 0..1, times in whatever unit the mean task time is
// given in. Everything holds for 0 <= rho < 1; outside it, and without workers, the functions
// return NaN.
package model
