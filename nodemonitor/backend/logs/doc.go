// Package logs keeps the output of the real processes of this node, by the attempts
// that wrote it.
//
//	ROOT/lock                        held by the node monitor that uses the folder
//	ROOT/<job id>/<task>.<attempt>       the attempt's own working folder
//	ROOT/<job id>/<task>.<attempt>.out   its stdout
//	ROOT/<job id>/<task>.<attempt>.err   its stderr
//
//	Begin ──▶ running ── End ──▶ ended ── retention over, or too much kept ──▶ dropped
//
// The names are the index: a restarted node monitor finds the logs of its
// predecessor again. Nothing of a running attempt is dropped; the bytes of the
// ended ones, their working folders included, are bounded, the oldest end is dropped
// first. Time comes in by [Config.Now] alone.
package logs
