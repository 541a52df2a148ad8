package frontend

import (
	"context"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// watchNATS keeps what is wrong with the NATS servers that keep the replicated journal. Masters report it
// only where they have standbys.
func (f *Frontend) watchNATS(ctx context.Context) {
	if f.standby == nil {
		return
	}
	stream := jetstore.JournalStream(f.cfg.Cluster, f.cfg.ID)
	f.service.natsFaults.Watch(ctx, func(ctx context.Context) ([]string, error) {
		return f.standby.servers.Faults(ctx, stream) // when it fails, the journal cannot be written, which is logged
	}, func(found []string) {
		if len(found) > 0 {
			f.log.Warn("the NATS servers do not all keep the journal; with a majority of them lost this frontend accepts nothing", "faults", found)
		} else {
			f.log.Info("all NATS servers keep the journal again")
		}
	})
}

// addNATSFaults adds the faults of the NATS servers that this frontend knows of to those that the masters
// have reported.
func (srv *schedulerService) addNATSFaults(states []api.MasterState) {
	known := srv.natsFaults.List()
	for i := range states {
		for _, fault := range known {
			if !slices.Contains(states[i].NATSFaults, fault) {
				states[i].NATSFaults = append(states[i].NATSFaults, fault)
			}
		}
	}
}
