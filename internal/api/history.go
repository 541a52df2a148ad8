package api

// JobUsage is what a job that ended used of the cluster: a line of its history.
type JobUsage struct {
	Job         string  `json:"job"`                 // its id
	Name        string  `json:"name,omitempty"`      // what the work is
	Owner       string  `json:"owner,omitempty"`     // for whom it ran
	Submitter   string  `json:"submitter,omitempty"` // who submitted it, as was proven then
	App         string  `json:"app,omitempty"`       // the application that submitted it
	Class       string  `json:"class"`               // short or long
	State       State   `json:"state"`               // completed, failed or cancelled
	Reason      string  `json:"reason,omitempty"`    // why it failed or was cancelled, at most 512 bytes of it
	Submitted   float64 `json:"submitted"`           // when its frontend accepted it, in Unix seconds
	Ended       float64 `json:"ended"`               // when its last task ended, in Unix seconds
	Tasks       int     `json:"tasks"`               // how many it had
	Completed   int     `json:"completed"`           // tasks that completed
	Failed      int     `json:"failed"`              // tasks that failed
	Attempts    int     `json:"attempts"`            // attempts that have a number: the first of each task, and one for each time that a task was tried again
	Again       int     `json:"again"`               // attempts that failed, were lost or were given back, and were followed by another one
	SlotSeconds float64 `json:"slot_seconds"`        // how long the attempts whose results count had a slot
	LostSeconds float64 `json:"lost_slot_seconds"`   // of attempts whose results do not count: failed and tried again, given back, or ended with a cancelled job
	Started     bool    `json:"started"`             // a task is known to have started; without one the waits are 0
	Wait        float64 `json:"wait"`                // seconds from the submission to the start of the first task
	LongestWait float64 `json:"longest_wait"`        // likewise of the task that started last
}

// UsageSum is the sum over jobs of a history that are equal in the keys of a query.
type UsageSum struct {
	Keys        []string // their values, in the order of the query
	Jobs        int64
	Completed   int64 // jobs, as the next two
	Failed      int64
	Cancelled   int64
	Tasks       int64
	FailedTasks int64
	Attempts    int64
	Again       int64
	SlotSeconds float64
	LostSeconds float64
	Started     int64   // jobs with a wait
	WaitSeconds float64 // the sum of their waits
	LongestWait float64
	Buckets     []int32 // of the waits, by WaitBucket, ascending
	Counts      []int64 // jobs in each
}

// HistoryQuery selects jobs that ended. The zero value selects all of them.
type HistoryQuery struct {
	Since      float64 // Unix seconds of their ends, from; 0 for no bound
	Before     float64 // likewise, and before
	Owner      string  // and those below it
	Class      string
	Job        string
	State      string
	Name       string
	By         []string // sums by these HistoryKeys; none: the jobs themselves
	Limit      int      // of jobs in the answer; 0: HistoryPageJobs
	Descending bool     // the newest first, not the oldest
	// The last job of the previous page; an empty id begins with the first.
	AfterJob       string
	AfterEnded     float64
	AfterSubmitted float64
}

// HistoryPage is the answer of one frontend.
type HistoryPage struct {
	Frontend string
	Jobs     []JobUsage
	More     bool // jobs follow
	Sums     []UsageSum
	Kept     int64   // jobs that the frontend keeps
	Oldest   float64 // when the oldest of them ended, in Unix seconds; 0 for none
	Limit    int64   // history_limit
	Removed  int64   // jobs removed since its start because the limit was reached
	Dropped  int64   // jobs not written since its start
	Problem  string  // why it keeps none, "" when it does
}

// The keys that may group a sum of the history.
const (
	ByOwner = "owner"
	ByClass = "class"
	ByDay   = "day" // of the end, in UTC
	ByName  = "name"
	ByState = "state"
)

// HistoryKeys returns the keys that may group a sum of the history.
func HistoryKeys() []string { return []string{ByOwner, ByClass, ByDay, ByName, ByState} }

// HistoryPageJobs bounds the jobs of a page, and HistorySums the sums of an answer.
const (
	HistoryPageJobs = 1000
	HistorySums     = 5000
)
