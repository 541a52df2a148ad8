package workload

import (
	"bufio"
	"io"
	"strconv"
)

// Write writes the workload in the published trace format, with the fields owner and
// priority at the end of the lines of jobs that have them. Read returns the
// same jobs back, except that keys become line numbers and classes, which the
// format does not hold, are unset.
func (w *Workload) Write(dst io.Writer) error {
	out := bufio.NewWriterSize(dst, 1<<16)
	var num []byte
	seconds := func(ns int64, end byte) error {
		num = append(AppendSeconds(num[:0], ns), end)
		_, err := out.Write(num)
		return err
	}
	for i := range w.Jobs {
		job := &w.Jobs[i]
		if err := seconds(job.Arrival, ' '); err != nil {
			return err
		}
		num = append(strconv.AppendInt(num[:0], int64(len(job.Durations)), 10), ' ')
		if _, err := out.Write(num); err != nil {
			return err
		}
		if err := seconds(job.Estimate, ' '); err != nil {
			return err
		}
		for k, d := range job.Durations {
			end := byte(' ')
			if k == len(job.Durations)-1 && !job.fields() {
				end = '\n'
			}
			if err := seconds(d, end); err != nil {
				return err
			}
		}
		if job.fields() {
			num = append(job.appendFields(num[:0]), '\n')
			if _, err := out.Write(num); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
