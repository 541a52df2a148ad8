// Package natsserver runs a NATS server inside this process: alone or as one of a cluster, with
// or without JetStream, which keeps streams and buckets on as many servers as they ask for.
// It differs from the server's own defaults in what Pigeon needs of it: an acknowledged write
// is on the disk (sync_interval: always), a stream whose leader has died has another within a
// second, the folder has a limit, and clients may ask for these settings.
package natsserver
