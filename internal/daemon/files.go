package daemon

import (
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// FileKind is a kind of files that daemons keep by their SHA-256.
type FileKind struct{ metric, what string }

// The kinds of files.
var (
	ApplicationFiles = FileKind{"application_files_refused_total", "Files of applications"}
	StagedFiles      = FileKind{"staged_files_refused_total", "Files that were sent with jobs (staged)"}
)

// WatchFiles exports which files of a kind were not used as they were found.
func WatchFiles(m *telemetry.Metrics, kind FileKind, stats func() filestore.Stats) {
	m.CounterFuncs(kind.metric, kind.what+" that were not used and are sent again, by reason: the content did not match the SHA-256 (damaged, for instance by a power failure), or the file was gone (missing).",
		telemetry.Label{Name: "reason", Values: []string{"damaged", "missing"}}, func(reason int) float64 {
			s := stats()
			return float64([]uint64{s.Damaged, s.Missing}[reason])
		})
}
