package natsservertest

import "go.uber.org/goleak"

// LeftBehind makes goleak ignore the goroutine that nats.go 1.55 leaves behind when the Put of
// an object, such as the snapshot of a journal, ends before it has begun.
func LeftBehind() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")
}
