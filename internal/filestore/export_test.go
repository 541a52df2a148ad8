package filestore

import "fmt"

// Recount returns how the running sum of the bytes differs from those of the files that are here or
// expected and of what senders are sending; nil when it does not.
func (s *Store) Recount(sending []*Incoming) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := int64(0)
	for _, e := range s.files {
		want += e.size
	}
	for _, in := range sending {
		if !in.over {
			want += in.file.Size
		}
	}
	if s.bytes != want {
		return fmt.Errorf("the store counts %d bytes, and has %d", s.bytes, want)
	}
	return nil
}
