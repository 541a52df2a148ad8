package frontend

// Messages counts what its core sent to others so far, as the papers do: a batch of k
// tasks counts k. It may be called from anywhere.
func (f *Frontend) Messages() uint64 { return f.owner.steps.Messages() }
