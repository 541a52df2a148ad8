package client

import (
	"errors"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// verdict is what the error of a call means for the next try.
type verdict int

const (
	answered  verdict = iota // there is an answer, or a refusal that will not pass
	passes                   // no answer, or a refusal that may pass
	elsewhere                // this frontend does not have the job; another one may
)

// judge returns what an error means for the next try, and the address that it names, "" for
// none. answers are the problems that are an answer to the call.
func judge(err error, answers ...api.Problem) (v verdict, address string) {
	if !unanswered(err) {
		for _, p := range answers {
			if hasProblem(err, p) {
				return answered, ""
			}
		}
	}
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return answered, ""
	case e.Problem == api.NotReady, e.Problem == api.Busy:
		return passes, e.Address
	case e.Problem == api.NotFound:
		return elsewhere, e.Address
	}
	return answered, ""
}

// unanswered reports whether an error is that of a call without an answer.
func unanswered(err error) bool {
	_, ok := errors.AsType[*client.CallError](err)
	return ok
}

func hasProblem(err error, p api.Problem) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == p
}

// mayHaveArrived reports whether a request with that error may have been carried out.
func mayHaveArrived(err error) bool {
	if lost, ok := errors.AsType[*client.CallError](err); ok {
		return lost.Sent
	}
	return hasProblem(err, api.NotReady) // the frontend stopped before it could answer
}
