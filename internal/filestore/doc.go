// Package filestore keeps files by their SHA-256: in a frontend those that applications have
// sent and those that were sent with jobs, in a node monitor those that it fetched for
// executors and tasks.
//
//	unknown ──Expect──▶ expected ──Put, in order──▶ growing ──the last byte──▶ hash right: here
//	                        ▲                                                  hash wrong: refused
//	                        └──────────────────────────────────────────────────────┘
//	here ──Trim: it is not used and the store is too large──▶ unknown
//	here ──at its use: it is gone, or has another content──▶ removed, expected
//
// The hash decides when a file is whole: who announced it may have been wrong about its size, and
// another size can be announced until it is here.
//
// A file gets its name when its hash is right and it is on the disk, so a power failure
// can at worst leave the name missing. Other files do not wait for that, and the file itself is
// not here before it is done. A name is still not trusted: each process reads a
// file once before the first use, and again when its size or its time has changed. A file
// that was not complete when a process ended is dropped.
package filestore
