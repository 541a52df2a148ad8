//go:build !race

// With the race detector the store draws at its start where it takes memory from.

package soak

import (
	"log/slog"
	"runtime"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// TestWhereTheStoreIs: storeOnHeap is so for a store that holds megabytes in memory.
func TestWhereTheStoreIs(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, dir := heap(), t.TempDir()
	lock, err := store.Lock(store.HostFS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := store.Open(dir, lock, store.Options{Broken: func(err error) { t.Error(err) }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range byte(200) {
		var b store.Batch
		b.Set([]byte{'k', i}, make([]byte, 64<<10))
		if err := disk.Append(&b, false); err != nil {
			t.Fatal(err)
		}
	}
	held, grown := int64(disk.Memory()), heap()-before
	runtime.KeepAlive(disk)
	if held < 12<<20 || (grown > held/2) != storeOnHeap {
		t.Errorf("the store holds %d bytes, and the heap has grown by %d: want it on the heap: %v", held, grown, storeOnHeap)
	}
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
}
