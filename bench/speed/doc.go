// Package speed measures the simulator: the time and the memory that each policy needs
// in the settings for which limits are promised.
//
//	Measures ─▶ Run: a process of pigeon sim for each ─▶ Rows ─▶ WriteTable (Markdown)
//
// Each run is a new process, so that none is charged for another's memory;
// its time is measured from the start to the end of the process and includes reading
// the trace.
//
// # Failures
//
// A trace that is not there is found before anything runs. A run that fails ends
// the measurement, with its standard error. A limit that is not met is marked in the table
// and fails nothing: the machine may have had other work.
package speed
