package journal

// pointDeletes is how many bundles of an ended job are deleted one by one. Range
// deletes slow every look-up until they are flushed, so they are kept for the few
// jobs that have many bundles.
const pointDeletes = 256

// bundle gathers the records of one job within one batch; they are stored under
// one key. The bundles of a job are numbered from 0, without a gap.
type bundle struct {
	job  *liveJob
	data []byte
	sub  []byte // the submission, when it is in this batch
}

// gather adds one record to its job's bundle, or to the batch when it has none.
func (c *committer) gather(o *op) {
	switch {
	case o.kind == AppAt && len(o.data) == 0:
		c.batch.Delete(o.key)
		return
	case o.kind == AppAt:
		c.batch.Set(o.key, o.data)
		return
	case o.kind == Stopped:
		c.keepStopped(o)
		return
	case o.job == nil: // the journal does not hold the job
		return
	}
	at, ok := c.byJob[o.job]
	if !ok {
		at = len(c.bundles)
		c.byJob[o.job] = at
		c.bundles = append(c.bundles, bundle{job: o.job})
	}
	p := &c.bundles[at]
	switch o.kind {
	case Accepted:
		p.sub = o.data
	case JobEnded:
		c.ended = append(c.ended, *o)
		p.job = nil // its bundle would be deleted at once
		c.replace(o)
	default:
		if p.data == nil {
			p.data = append(make([]byte, 0, 64), valueVersion)
		}
		p.data = append(p.data, o.data...)
	}
}

// replace removes an ended job and keeps what Ended holds of it.
func (c *committer) replace(o *op) {
	c.batch.Set(o.key, o.data)
	c.key = expiryKey(c.key[:0], o.at, o.id)
	c.batch.Set(c.key, nil)
	c.sweep.jobs.add()
	if o.job.bundles > pointDeletes {
		c.batch.DeleteRange(jobKey(nil, o.job.seq), jobKey(nil, o.job.seq+1))
		return
	}
	for n := range o.job.bundles {
		c.key = bundleKey(c.key[:0], o.job.seq, n)
		c.batch.Delete(c.key)
	}
	if o.job.stored {
		c.key = jobKey(c.key[:0], o.job.seq)
		c.batch.Delete(c.key)
	}
}

// putBundles adds the gathered bundles to the batch.
func (c *committer) putBundles() {
	for i := range c.bundles {
		p := &c.bundles[i]
		if p.job == nil {
			continue
		}
		if p.sub != nil {
			c.key = jobKey(c.key[:0], p.job.seq)
			c.batch.Set(c.key, p.sub)
			p.job.stored = true
		}
		if p.data != nil {
			c.key = bundleKey(c.key[:0], p.job.seq, p.job.bundles)
			c.batch.Set(c.key, p.data)
			p.job.bundles++
		}
	}
	clear(c.bundles)
	clear(c.byJob)
	c.bundles = c.bundles[:0]
}
