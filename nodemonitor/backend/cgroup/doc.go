// Package cgroup gives processes limits by cgroup v2, in a part of its tree that was
// delegated to this program, and in no other.
//
//	root                        what was delegated (Open finds it)
//	├── daemon                  the node monitor and its guard: an inner cgroup of v2 may
//	│                           hold no processes
//	├── weight-10               processes without limits of their own, by weight
//	├── task-01J...7.12         one process with limits, and all that it starts
//	└── ...
//
// A cgroup of one process costs a folder, one write for each limit, and the removal. A
// process without limits gets none.
//
// # What may be touched
//
//	setting        root
//	a path         that folder, made if it is missing: the setting delegates it
//	"" (find it)   the cgroup of this process, when it is delegated: by the attribute that
//	               systemd sets (Delegate=yes), or because it belongs to this user, who is not
//	               root; and it holds no process but this one and its descendants
//	off            none
//
// Root may write everywhere, so write permission of root proves nothing: a shell of root, or
// a container whose cgroup is the host's, gets limits by other means (package guard).
package cgroup
