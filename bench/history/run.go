package history

import "time"

// Time is in ns of the machine's monotonic clock, the same for all processes.
type Time = int64

// Run is all that is known of a run.
type Run struct {
	// Suspends reports whether the policy may stop a task in its slot for another one.
	Suspends bool
	// Binds reports whether tasks wait at workers, so that an idle one may not take them.
	Binds bool
	// LostAfter is the silence after which a node is taken for lost.
	LostAfter time.Duration
	// Began is the beginning of the load, Healed the end of the last fault, when every daemon
	// ran again, Until the end of the load, Done the end of the last job, or of patience.
	Began, Healed, Until, Done Time
	// FailingDisk is a frontend whose journal cannot always be written, "" for none: it may
	// end by itself.
	FailingDisk string
	// Standbys reports whether frontends have standbys: one that loses its leadership ends.
	Standbys bool
	// Frontends is the number of frontends without their standbys, Workers the number of workers
	// of each group, and Nodes the names of all nodes: of the cluster when it is sound.
	Frontends int
	Workers   map[int]int
	Nodes     []string
	// Stall is the longest time that the program that injected the faults was late
	// itself after Healed. The bounds in time are longer by it.
	Stall time.Duration

	Events     []Event
	Jobs       []Job
	Faults     []Fault
	Slots      []Slot
	Groups     []Group
	Footprints []Footprint
	Results    []Result
	SparkJobs  []SparkJob
	Ends       []ProcessEnd
}

// Job is a job as its client knows it.
type Job struct {
	Key       string
	Frontend  int
	Tasks     int
	Long      bool
	Writes    bool // its tasks write a history
	Submitted Time // it was submitted for the first time
	Called    Time // it was submitted for the last time: that was accepted
	Accepted  Time // the frontend answered; 0: never
	Cancelled Time // the cancellation was answered; 0: none
	Ended     Time // the client learned of the end; 0: never
	Forgotten []Forgotten
	State     string
	Completed int // tasks
	Reason    string
	Why       []string // of a job that did not end: the explanation of its frontend
}

// Forgotten is that a frontend did not know a job any more that it had accepted. The client then
// submitted it again.
type Forgotten struct{ Accepted, Noticed Time }

// SparkJob is a job of a Spark application.
type SparkJob struct {
	Application int
	Job         int // its number in the workload
	Submitted   Time
	Ended       Time // 0: never
	State       string
	Why         []string // of one that did not end: why applications ended
}

// Kinds of faults.
const (
	Kill      = "kill"      // SIGKILL, started again at the end
	Pause     = "pause"     // SIGSTOP, SIGCONT at the end
	Stop      = "stop"      // SIGTERM, started again at the end
	GuardKill = "guard"     // SIGKILL to the guard of a node
	TaskKill  = "task"      // SIGKILL to the process of a task
	Partition = "partition" // between Victim and Peer, both ways
	OneWay    = "one-way"   // what Victim sends to Peer is lost
	Isolation = "isolation" // between Victim and all other daemons
	HalfOpen  = "half-open" // isolation, and SIGKILL meanwhile: peers keep their connections
	Delay     = "delay"     // of all that Victim sends and receives
	Loss      = "loss"      // of packets that Victim sends and receives
	Repeat    = "repeat"    // of packets that Victim sends and receives
	FullDisk  = "full-disk" // of a frontend's journal
	SlowDisk  = "slow-disk" // of a frontend's journal: writes and fsyncs take their time
	BadDisk   = "bad-disk"  // of a frontend's journal: a write or an fsync fails, again after each restart
	NodeDisk  = "node-disk" // of a node's work folder: nothing can be written there
	// JournalLost is SIGKILL of a frontend, whose journal is gone when it is started again at the end.
	JournalLost = "journal-lost"
	WallJump    = "wall-jump" // of the wall clock of Victim, which goes back at the end

	Machine     = "machine"      // SIGKILL, and its disk is gone; at the end another machine takes its place
	NATSLost    = "nats-lost"    // SIGKILL to one of three NATS servers, or two with Peer, started again at the end
	LeaderPause = "leader-pause" // SIGSTOP of the master that leads beyond its leadership, SIGCONT at the end
	LeaderCut   = "leader-cut"   // between the master that leads with half of its nodes and all other daemons
	LeaderClock = "leader-clock" // the leading master's clock for its leadership runs at half its speed
	Rolling     = "rolling"      // every daemon is stopped in order and started again, one after another
)

// Fault is an injected fault.
type Fault struct {
	Number   int    // from 1
	Kind     string // one of the constants
	Victim   string // name of a daemon
	Peer     string // of the other daemon of a partition
	From, To Time
	Pid      int          // of a process of a task
	Void     bool         // it could not be injected: the victim did not run
	Stops    []DaemonStop // of a stop in order and a rolling restart
}

// DaemonStop is a stop in order.
type DaemonStop struct {
	Daemon   string
	From, To Time // of SIGTERM, and of the end of the process
}

// Slot is a slot in a node's status.
type Slot struct {
	Time        Time
	Node        string
	Incarnation int64
	Epoch       uint64 // of the node
	Slot        int
	Seq         uint64
	Reserved    bool
	Job         string // the job that runs there, "" for none
	Task        int
	Attempt     int
	Asks        bool // a request for a task is open
}

// Group is a group in a frontend's status.
type Group struct {
	Time                      Time
	Frontend, Group           int // the standby of frontend i is Frontends+i
	Workers, Idle, Busy       int
	IdleGeneral, IdleReserved int
	QueuedShort, QueuedLong   int
}

// Footprint is what a process used.
type Footprint struct {
	Time        Time
	Daemon      string
	Role        string
	Pid         int
	RSS         int64 // bytes
	Descriptors int
	Goroutines  int // 0: not read
}

// Result is a result that a frontend accepted.
type Result struct {
	Job     string
	Task    int
	Attempt int
	Time    Time
}

// ProcessEnd is the end of a daemon that was not asked for, or one that did not happen.
type ProcessEnd struct {
	Time   Time
	Daemon string
	What   string
}
