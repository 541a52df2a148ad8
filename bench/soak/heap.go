//go:build !cgo

package soak

// storeOnHeap reports whether the memory of a journal's store is on the Go heap of the frontend,
// which is the same program as this one.
const storeOnHeap = true
