// Package published knows the published traces: where each comes from, what its file must
// hold, and which generator resembles it. It fetches them, and measures how far two workloads
// are from each other.
package published
