package nodemonitor

// Messages counts what its cores sent to others so far, as the papers do: a batch of
// k tasks counts k. It may be called from anywhere.
func (n *NodeMonitor) Messages() uint64 { return n.owner.steps.Messages() }
