// Package wire translates between the Thrift types and the plain types of Pigeon. No other
// package imports the generated code.
//
//	socket ─▶ server ─▶ generated processor ─▶ handler here ─▶ port ─▶ daemon
//	daemon ─▶ client here ─▶ generated client ─▶ pool ─▶ socket
//	NATS   ◀─▶ bytes ◀─▶ Codec ◀─▶ Batch ◀─▶ daemon
//
// A port is a small interface that a daemon implements ([Scheduler],
// [BackendRegistry], the members of [PeerPorts], [Application], [Launcher]); a
// function turns it into a thrift.TProcessor for the server. For each there is a
// client that implements the same port over a [Caller], a pool of connections.
// So two daemons can be wired in one process or over the network, by the same code.
//
// # Names
//
// Cores address each other by small numbers that are valid in one process only. On the
// wire a core is a [Ref]: role, name of its daemon, slot. Each daemon passes its
// [Directory] to a [Codec], which translates both ways.
//
// # Time
//
// The arrival of a job travels as its age, so the receiver places it on its own
// clock; a caller's deadline travels as how long it still waits. No clock is
// compared with another.
//
// # Failures
//
// Every error that leaves a client here is or wraps an *api.Error, or is the
// caller's own cancellation, context.Canceled. Ours travel in their four parts;
// where a published method declares its own exception, that carries the whole text. A
// batch that cannot be translated (an unknown kind, class or backend, a range out of
// bounds, a size above the limit) is refused whole, with an error that names the message:
// its sender is of another version or broken, and half a batch would be worse than none. Decoding never panics and never allocates more
// than the bytes at hand can justify.
package wire

//go:generate go run ../wiregen ../.. conversions.go
