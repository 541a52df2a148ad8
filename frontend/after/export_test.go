package after

// Len returns how many jobs are held.
func (t *Table) Len() int { return len(t.held) }
