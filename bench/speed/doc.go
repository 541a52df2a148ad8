// Package speed measures the simulator: how long each policy takes on the settings
// that were promised, and how much memory.
//
//	Measures ─▶ Take: a process of pigeon sim for each ─▶ Rows ─▶ WriteTable (Markdown)
//
// Each run is a new process, so that none is charged for another's memory;
// its time is that of the process from start to end, the reading of the trace
// included.
//
// # Failures
//
// A trace that is not there is found before anything runs. A run that fails ends
// the measurement, with its standard error. A limit that is not met is marked in the table
// and fails nothing: the machine may have had other work.
package speed
