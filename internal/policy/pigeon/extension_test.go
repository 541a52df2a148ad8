package pigeon

// extended returns the extension of a master that has one.
func extended(s *Master) *extension {
	e, _ := s.hooks.(*extension)
	return e
}
