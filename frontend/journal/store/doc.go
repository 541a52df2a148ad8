// Package store keeps the keys and values of a journal, ordered by key, on the
// disk of this host.
//
//	Lock ──▶ Open ──▶ Append, Get, Scan ──▶ Close
//	            └──▶ broken: Options.Broken is called at least once, every call fails
//
// [Disk] is the store of a local journal, and of the copy that a replicated one has on
// each host (package replica, the other store of a journal). It is a pebble store, and
// only this package knows that; it uses pebble's public API and reads none of pebble's
// files itself. Package journal declares the few methods that it needs as an interface.
//
// # What the store proves by itself
//
// Every block of a table and every record of a log carries a checksum. Open
// returns a [DamageError] when a file that the store's manifest names is missing, and
// when a log is damaged and a later block of 32 KiB shows that the damaged bytes
// had been synced. A block of a table is checked when it is read.
//
// It does not detect a log or a manifest that ends too early: it considers the first
// record that is not whole the place at which the process died. The journal
// finds that by its own sequence numbers, see package journal.
package store
