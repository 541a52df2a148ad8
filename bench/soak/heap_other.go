//go:build cgo

package soak

// storeOnHeap reports whether the memory of a journal's store is on the Go heap of the frontend:
// where programs can call C, the store (Pebble) takes it from C's allocator.
const storeOnHeap = false
