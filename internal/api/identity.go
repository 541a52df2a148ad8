package api

// FrontendIdentity is a frontend as its clients know it.
type FrontendIdentity struct {
	Name string
	// SharedKeys reports whether a job that is submitted again under its idempotency key is
	// the same job at every frontend of the cluster, not at this one alone.
	SharedKeys bool
	// Page is the address of its page, "" where it has none, or none that others reach.
	Page string
	// SharedProcess reports whether it takes requests in which what the tasks share stands once.
	SharedProcess bool
	// StageBytes is how many bytes the staged files of one job may have. Below 0: it takes none; 0: it
	// does not say.
	StageBytes int64
}
