// Package files keeps the files of applications by their SHA-256: in a frontend
// those that applications have sent, in a node monitor those that it fetched for
// their executors.
//
//	unknown ──Expect──▶ expected ──Put, in order──▶ growing ──the last byte──▶ hash right: here
//	                        ▲                                                  hash wrong: refused
//	                        └──────────────────────────────────────────────────────┘
//	here ──Trim: nobody uses it and the store is too large──▶ unknown
//
// A file is in its place only when its hash was right, so a name that is there
// can be trusted, also by the next process with the same folder. What was
// growing when a process ended is dropped.
package files
