// Package events keeps the latest events of a frontend, and hands them to readers.
//
//	Publish ──▶ ring: the newest events, bounded in number and bytes ──Read──▶ any number of readers
//	              └──the oldest──▶ forgotten
//
// The events of a process are numbered from 1 without gaps; with the epoch of the process the
// number states where a reader is. A reader is not known between two of its calls: it names the
// event after which it continues, and learns how many it has missed. A publisher never waits for a
// reader.
//
// Jobs observes the jobs of the frontend; what happens to members and submissions is published by
// Members and Refusals.
package events
