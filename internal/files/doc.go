// Package files keeps the files of applications by their SHA-256: in a frontend
// those that applications have sent, in a node monitor those that it fetched for
// their executors.
//
//	unknown ──Expect──▶ expected ──Put, in order──▶ growing ──the last byte──▶ hash right: here
//	                        ▲                                                  hash wrong: refused
//	                        └──────────────────────────────────────────────────────┘
//	here ──Trim: it is not used and the store is too large──▶ unknown
//
// A file is moved to its place only when its hash was right, so a name that exists
// can be trusted, also by the next process with the same folder. A file that was
// not complete when a process ended is dropped.
package files
