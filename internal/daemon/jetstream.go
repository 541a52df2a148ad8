package daemon

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// JetStream opens the checked connection to JetStream, which the daemon's end closes. name
// identifies the daemon in errors and to the operator of the servers. The error says which
// check fails, or, when ctx ends, what Open was waiting for.
func (l *Lifecycle) JetStream(ctx context.Context, s Settings, ls LeadershipSettings, name string) (*jetstore.Store, error) {
	store, err := jetstore.Open(ctx, jetstore.Options{
		Access: s.Servers(), Name: name, Cluster: s.Cluster, ID: ls.ClusterID, Replicas: ls.NATSReplicas,
		Monitor: ls.NATSMonitor, SyncAlways: ls.NATSSyncAlways, TTL: ls.LeaderTTL, Log: l.log,
	})
	if err != nil {
		return nil, err
	}
	l.OnClose(func() error { store.Close(); return nil })
	return store, nil
}
