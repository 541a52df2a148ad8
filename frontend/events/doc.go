// Package events keeps what happened lately at a frontend, and hands it to readers.
//
//	Publish ──▶ ring: the newest events, bounded in number and bytes ──Read──▶ any number of readers
//	              └──the oldest──▶ forgotten
//
// The events of a process are numbered from 1 without gaps; with the epoch of the process the
// number says where a reader is. A reader is not known between two of its calls: it names the
// event after which it goes on, and is told how many it has missed. Nobody who publishes ever
// waits for one who reads.
package events
