// Package compare compares policies: every policy on every trace and load, with
// several seeds, simulated on all processors and, for chosen ones, live.
//
//	Plan ─check─▶ cells (trace x load) ─┬─ simulate (policy x seed) ─┐
//	                                    ├─ references (seed) ────────┼─▶ Comparison ─▶ Rows ─┬─ results.csv, results.jsonl
//	                                    │                            │                       ├─ figures (SVG, PNG)
//	                                    └─ live (policy x run) ──────┘                       └─ report.md
//	folders of several comparisons ─Read─▶ Page ─▶ bench/results/simulated.md, bench/results/simulated/
//
// The run of the first seed is observed: quantities over time, and the state that the
// cores hold.
//
// # Ratios and their intervals
//
// A percentile is normalised to that of the first policy on the same workload
// with the same seed. The report has the geometric mean of these ratios over the
// seeds, with the 95 % interval of Student's t on their logarithms; for times, the
// mean and the interval of t. One seed has no interval. A policy without draws on
// a workload without draws has one value for all seeds, and an interval of width
// 0.
//
// # References
//
// No policy can be faster than the longest task of each job (no queueing at all). The
// clairvoyant schedule, preemptive shortest remaining work over jobs on all workers, is a
// reference and no bound: policies pass its percentiles, and the mean of one class. Every
// figure shows both as if they were policies, in grey.
//
// # Continuing
//
// What a step measured is kept in a file whose name is a hash of all that it depends on. A
// comparison that was interrupted takes the files of its completed steps and makes the others.
//
// # Failures
//
// Mistakes in a plan are found before anything is started or written. A run that
// fails ends the comparison with its policy, trace, load and seed named; in the
// folder only the kept runs change.
package compare
