// Package server serves a thrift.TProcessor to peers that may be slow, broken or
// hostile: framed transport, binary protocol, one service per port.
//
// The states of a connection:
//
//	accepted -- over a cap ------------------------------> closed (refused)
//	   |
//	   v
//	securing -- HandshakeTimeout, no TLS ----------------> closed, after an answer to a
//	   | handshake, where there is TLS; identify           call in clear
//	   v
//	idle ------ no frame for IdleTimeout, peer closed ---> closed, sooner while nothing is proven
//	   | first byte of a frame
//	   v
//	reading --- FrameTimeout after that byte, too large,
//	   |        no memory, not Thrift -------------------> closed
//	   | last byte
//	   v
//	calling --- handler panics, arguments do not parse,
//	   |        caller is not or no longer proven -------> answered, closed
//	   | reply written within WriteTimeout
//	   v
//	idle
//
// While a call runs nothing is read. Once a second the server looks for callers that have closed
// their end of the connection meanwhile, and ends the context of their calls: a long poll does not
// outlive its caller.
//
// One goroutine owns a connection from accept to close. A deadline is a point in
// time set once per frame, so sending a byte a second does not defer it. A frame is read
// whole before it is parsed, and its memory is charged to a budget as its bytes
// arrive.
//
// With Options.Security the server identifies the caller, once for each connection, and puts
// the principal into the context of each call (identity.From). It answers IdentityService
// itself, in addition to its own service. A call that the caller may not make is refused before
// its arguments are parsed.
//
// Run serves until its context is done, then closes idle connections, lets calls finish for
// StopTimeout, cancels and closes the rest, and returns when no goroutine is left. A listener that ends
// by itself ends Run with an error, since a daemon that cannot be reached must not look alive.
package server
