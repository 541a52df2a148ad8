// Package jobs is the table of a frontend's jobs: what a frontend keeps of them beside
// the core's ledger, from which their status, their history and their traces come.
//
// The core decides; its records are applied here (Table.Record), journaled, and what
// they mean to others happens when they are on the disk (Table.Release).
package jobs
