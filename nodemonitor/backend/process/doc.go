// Package process is the backend "exec": a task is a process, started without a
// shell by the guard (package guard), its output kept on the node (package logs).
//
//	Start ─▶ preparation ─▶ guard ─▶ fork ─▶ exit 0                done
//	              │           │                exit n, signal        failed
//	              │           └ no program, no folder, ...           failed
//	              └ disk full, or it hangs                           yielded
//	Kill ─▶ SIGTERM to the group, SIGKILL after the grace            killed
//	guard gone; the node has no process, memory or open file left    lost
//	the disk of the node is at fault before the process begins       yielded (package disk)
//
// The process runs as its submitter, or as the user in the node monitor's settings (package
// accounts). It has the variables of every process there (PATH, HOME, USER and few others, and
// those of task_env), not the node monitor's environment; then the frontend of its job, so that
// it can use the cluster that it runs on; then the task's own variables; then the others of
// these. The last wins.
//
//	PIGEON_FRONTEND    where the frontend of the job serves applications, host:port
//	PIGEON_JOB         the job's id, as `pigeon submit` printed it
//	PIGEON_TASK        the task's number in the job, from 0
//	PIGEON_TASK_ID     the application's name for the task
//	PIGEON_ATTEMPT     the attempt's number, above those of the task's earlier attempts
//	PIGEON_NODE        the node's id
//	PIGEON_SLOT        the slot's number on the node
//	PIGEON_ARRAY_INDEX the task's index in its array, if it is of one
//
// Its stdin is empty, unless the task takes input (api.Exec.Stdin): then it is a pipe into which
// the guard writes what the frontend passes on (docs/adr/0055-standard-input.md). Its working
// folder is the one that the task names, else an empty one of its own, which only its user may
// enter and which is removed with its logs. An attempt ends when its process does: anything that
// it left running in the background is killed.
package process
