// Package jetstore is a daemon's checked connection to JetStream, and what Pigeon keeps there:
// leaderships, and replicated journals. Open answers when these hold, or says which does
// not and what to do:
//
//   - the servers are NATS 2.11 or newer, with JetStream;
//   - each has sync_interval: always, so that an acknowledged write survives a loss of power;
//   - their cluster has at least one server for each replica;
//   - streams and buckets under the cluster's name belong to this cluster (its id is
//     in the metadata of every stream) and have the configured replicas.
//
// A state that passes by itself, such as a server that starts or an election, is waited for
// until the context ends.
package jetstore
