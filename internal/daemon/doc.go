// Package daemon contains what the master, the frontend and the node monitor have in
// common apart from their cores.
//
//	Settings    the settings that all three have, and their validation
//	Lifecycle   what New opened is closed once; Run starts the parts and stops
//	            them in order; the first failure ends the daemon
//	Mailbox     questions to the goroutine that owns a daemon's state
//
// A daemon embeds a Lifecycle. Its New opens listeners, tracing and a recording
// with it, and registers whatever else it opens with OnClose. Its Run names the
// parts:
//
//	New ──▶ open ──Run──▶ serving ──context done or Fail──▶ stopping ──▶ closed
//	          └──────────────────Close─────────────────────────────────────▲
package daemon
