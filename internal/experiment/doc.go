// Package experiment defines a run, once for simulated and live runs: a
// workload, a cluster, a policy and a seed. It also turns the outcome of a run into
// the one result that all runs print.
//
//	flags ─▶ Description ─▶ Runs (policy x seed) ─┬─ Simulate ──────────▶ Outcome ─▶ measure.Result
//	                                              └─ bench/replay, live ─▶ Outcome ─┘
//
// A run is defined by its Run value alone: the same value has the same jobs
// with the same keys to the same frontends, simulated and live, so that the
// draws of the policy, keyed by job, are the same too.
//
// # Failures
//
// Everything that is wrong with a description is found by Runs, before anything
// is started. A run that was ended early has an Outcome marked partial.
package experiment
