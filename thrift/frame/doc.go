// Package frame is the framed Thrift transport of both ends of a connection: a
// four-byte big-endian size, then one message of the binary protocol.
//
// The Thrift library's own framed transport reads a frame in the middle of parsing. The
// owner of the socket then cannot distinguish a slow frame from a silent peer, bound the
// memory of a frame before it has arrived, or check that a message was consumed to its
// end. Here a frame is read whole, then parsed:
//
//	socket -> Reader: size, limit, budget, bytes -> Transport -> binary protocol
//	socket <- one write of size and bytes       <- Transport <- binary protocol
//
// Failures: a size beyond the limit is an *OversizeError that names what the peer
// seems to speak instead; a budget with no room is ErrBudget; a message that
// runs past its frame ends in io.ErrUnexpectedEOF; a message that would be
// written beyond the limit is ErrTooLarge, and nothing of it is sent.
package frame
