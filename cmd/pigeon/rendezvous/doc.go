// Package rendezvous is where the commands of a user find the "pigeon dev" that
// the same user runs, so that no address has to be typed.
//
//	no file ──Publish──▶ locked ──▶ written, locked by its process ──Withdraw──▶ no file
//	                              │
//	                              └─ the process ends in any other way ──▶ file without a lock: stale
//
// The file is dev.json in the user's runtime folder, or in a folder of the user's
// own below the folder for temporary files; only the user can read both (mode 0700,
// the file 0600). It is alive exactly while the process that wrote it holds both parts of
// a lock on it, which the kernel takes back however that process ends. So a stale file is
// recognised without guessing by process numbers, which are used again; the number
// in the file is for people.
//
// Only one dev of a user runs: a second one is refused with the number of the first.
package rendezvous
