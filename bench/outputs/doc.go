// Package outputs runs many tasks that each write much, and measures what their outputs cost the
// node: disk, and memory of the node monitor and of its guard.
//
//	tasks ──▶ frontend ─▶ master ─▶ one node ─▶ guard ─▶ programs that write
//	                                 │            │
//	                     memory, processor      outputs ─▶ size of the folder, every second
//
// At the end a sample of the outputs is read through the frontend. Each is whole, byte by byte, or
// its removal is reported (log_limit removes the oldest); one that is neither, such as one that is
// longer than what was written, counts as cut.
package outputs
