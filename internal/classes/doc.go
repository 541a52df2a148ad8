// Package classes decides the class and the estimate of a job from what its submitter
// declares and from what is known of earlier jobs of the same work: how long their tasks
// took. It is pure: instants are arguments, and equal calls give equal answers.
//
//	Decide ──▶ class, estimate, reason ──Begin──▶ Run ──TaskEnded, ...──▶ JobEnded
//	   ▲                                                   │                  │
//	   └──── Learner: works (owner, name), owners' overruns ◀─────────────────┘
//
// # What is learned
//
// A work is what the jobs of one owner run: a program and its first argument, or the name
// that the submitter gives. Of each work the means of its last jobs are kept, one number a
// job: the mean time of the tasks that succeeded. The estimate of the next job is the median
// of these, and its class follows from the estimate as from a declared one.
//
// The class of a job is by its mean task duration (docs/design.md, section 3, Class), so a
// job counts once, by its mean, however many tasks it has: a sketch of all task times would
// say how long a task takes, and would call a job short when few of its tasks take nearly
// all its time. Of the means the median is used, because it gives the fewest jobs a wrong
// class, and one job of an hour among ten of a second does not change it; the mean of means
// would. A few numbers a work are kept as they are, which is as small as a sketch of them
// and exact.
//
// # What is not believed
//
// Of each owner the time of tasks that ran as short is counted over a sliding window, and
// the part of it past the cutoff, the overruns. Beyond a tenth, jobs of the owner that would
// be short without having been learned are long. Both are saved, apart from each other
// (docs/adr/0025-learned-classes.md).
package classes
