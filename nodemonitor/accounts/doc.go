// Package accounts decides as which user of this machine the processes of a submitter run, and
// which environment they have.
//
//	submitter, as its frontend has proven it
//	   │ run_as: submitter ──▶ users_file, else the machine's users ──▶ account, or why not
//	   │ run_as: daemon    ──▶ the node monitor's own
//	   │ run_as: NAME      ──▶ that user's, for all
//	   ▼
//	Account ──▶ guard.User (the process's user) and its variables (HOME, USER, ...)
//
// A node monitor that is not root can run processes only as itself: it refuses those of other
// submitters unless run_as states otherwise. Nothing runs as root unless allow_root permits
// it, or every daemon is on this machine, where the kernel has proven that root submitted it
// (docs/adr/0040-run-as.md).
package accounts
