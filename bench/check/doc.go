// Package check makes many simulated runs with faults, over policies, clusters and
// seeds, and counts what happened in them. A run that violates a check is shrunk, and the
// command that repeats the smaller run is kept.
//
//	seed ──▶ a cluster and a workload ──▶ a run for each policy ──▶ counts, violations
//
// The run of a seed and a policy depends on these two alone.
package check
