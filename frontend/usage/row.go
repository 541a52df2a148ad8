package usage

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A row is a job. Its key has the instant of the end, the id, and the instant of the submission, so
// that the order of keys is that of pages. Times are whole microseconds, since 1970 where they are
// instants: sums do not depend on the order of the jobs.
type row struct {
	ended, submitted int64
	job              []byte
	text             [texts][]byte
	number           [numbers]int64
}

// What a row has, in the order in which it is written.
const (
	owner = iota
	submitter
	class
	state
	name
	app
	reason
	texts
)

const (
	tasks = iota
	completed
	failed
	attempted
	again
	slot
	lost
	wait // -1 when no task is known to have started
	longest
	numbers
)

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 512

// rowFormat begins each row.
const rowFormat = 1

var errRow = errors.New("a row of it is not readable")

// micros converts seconds to microseconds; for an instant of this century it loses nothing that
// matters.
func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }

func seconds(micros int64) float64 { return float64(micros) / 1e6 }

// keyFrom returns the key that no row from an instant on precedes.
func keyFrom(ended int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(max(ended, 0))) //nolint:gosec // not negative
}

// keyOf returns the key of a job.
func keyOf(ended float64, job string, submitted float64) []byte {
	key := append(append(keyFrom(micros(ended)), job...), 0) // 0: an id precedes those that begin with it
	return binary.BigEndian.AppendUint64(key, uint64(max(micros(submitted), 0)))
}

// encode returns the row of a job without its key.
func encode(j *api.JobUsage) []byte {
	b := []byte{rowFormat}
	for _, text := range [texts]string{j.Owner, j.Submitter, j.Class, string(j.State), j.Name, j.App, strings.ToValidUTF8(j.Reason[:min(len(j.Reason), maxReason)], "")} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	waited, waitedLongest := int64(-1), int64(0)
	if j.Started {
		waited, waitedLongest = micros(j.Wait), micros(j.LongestWait)
	}
	for _, n := range [numbers]int64{
		int64(j.Tasks), int64(j.Completed), int64(j.Failed), int64(j.Attempts), int64(j.Again),
		micros(j.SlotSeconds), micros(j.LostSeconds), waited, waitedLongest,
	} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// decode reads a row, which refers to the key and the value.
func (r *row) decode(key, value []byte) error {
	if len(key) < 17 || len(value) == 0 || value[0] != rowFormat {
		return errRow
	}
	end := len(key) - 8
	r.ended, r.job, r.submitted = int64(binary.BigEndian.Uint64(key)), key[8:end-1], int64(binary.BigEndian.Uint64(key[end:])) //nolint:gosec // written as such
	value = value[1:]
	for i := range r.text {
		size, n := binary.Uvarint(value)
		if n <= 0 || size > uint64(len(value)-n) { //nolint:gosec // not negative
			return errRow
		}
		r.text[i], value = value[n:n+int(size)], value[n+int(size):] //nolint:gosec // fits, as above
	}
	for i := range r.number {
		v, n := binary.Varint(value)
		if n <= 0 {
			return errRow
		}
		r.number[i], value = v, value[n:]
	}
	return nil
}

// usage returns the job.
func (r *row) usage() api.JobUsage {
	n := &r.number
	return api.JobUsage{
		Job: string(r.job), Name: string(r.text[name]), Owner: string(r.text[owner]), Submitter: string(r.text[submitter]), App: string(r.text[app]),
		Class: string(r.text[class]), State: api.State(r.text[state]), Reason: string(r.text[reason]), Submitted: seconds(r.submitted), Ended: seconds(r.ended),
		Tasks: int(n[tasks]), Completed: int(n[completed]), Failed: int(n[failed]), Attempts: int(n[attempted]), Again: int(n[again]),
		SlotSeconds: seconds(n[slot]), LostSeconds: seconds(n[lost]), Started: r.started(), Wait: seconds(max(n[wait], 0)), LongestWait: seconds(n[longest]),
	}
}

func (r *row) started() bool { return r.number[wait] >= 0 }
