// Package jobs is the table of a frontend's jobs: what a frontend keeps of them in
// addition to the core's ledger, from which their status, their history and their
// traces come.
//
// The core decides; its records are applied here (Table.Record) and journaled, and
// their effects on others happen when they are on the disk (Table.Release).
package jobs
