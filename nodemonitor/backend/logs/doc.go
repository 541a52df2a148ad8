// Package logs keeps the output of the real processes of this node, by the attempts
// that wrote it.
//
//	ROOT/lock                        held by the node monitor that uses the folder
//	ROOT/<job id>/<task>.<attempt>       the attempt's own working folder
//	ROOT/<job id>/<task>.<attempt>.out   its stdout
//	ROOT/<job id>/<task>.<attempt>.err   its stderr
//	ROOT/<job id>/<task>.<attempt>.*.gap which bytes of one of the two are not kept
//
//	Begin ──▶ running ── End ──▶ ended ── retention over, or too much kept ──▶ dropped
//
// Where tasks run as other users than the node monitor, only its user may enter a working folder,
// and the folders above it belong to the node monitor and can be passed, not listed: a task
// reaches its own folder, and no output.
//
// The names are the index: a restarted node monitor finds the logs of its
// predecessor again, except those of attempts that wrote nothing and whose empty folder a later
// attempt has got (Spare). Nothing of a running attempt is dropped; the bytes of the ended ones,
// their working folders included, are bounded: the oldest end of the user who has most is dropped first, and the
// newest of all stays. Time comes only from [Config.Now].
package logs
