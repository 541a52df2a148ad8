package quotas

// Owners returns how many owners have something or have owners below them that do.
func (t *Table) Owners() int { return len(t.used) }
