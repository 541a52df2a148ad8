package wire

import (
	"errors"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/gen/application"
	"github.com/pigeon-sched/pigeon/thrift/gen/identity"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// Refused returns the message with which a method throws a refusal, and the exception in it: the one
// that the method declares, so that its client sees all parts of an *api.Error, else a
// TApplicationException with the text.
func Refused(method string, why error) (thrift.TMessageType, thrift.TStruct, error) {
	if method == "submitJob" {
		e := &published.IncompleteRequestException{Message: bounded(why).Error()}
		return thrift.REPLY, &published.SchedulerServiceSubmitJobResult{E: e}, e
	}
	if thrown, ok := errors.AsType[*published.TPigeonException](refusal(why)); ok && declaring()[method] {
		// Our methods declare it with the same id, so that the result of one can be used for
		// that of any.
		return thrift.REPLY, &published.SchedulerServiceCancelJobResult{E: thrown}, thrown
	}
	e := thrift.NewTApplicationException(thrift.INTERNAL_ERROR, bounded(why).Error())
	return thrift.EXCEPTION, e, e
}

// undeclared are the published methods that declare no exception of ours.
var undeclared = []string{
	"registerFrontend", "submitJob", "sendFrontendMessage", // SchedulerService
	"frontendMessage", "launchTask", "registerBackend", "taskFinished", "tasksFinished",
}

// declaring returns the methods that declare TPigeonException.
var declaring = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, p := range []thrift.TProcessor{
		published.NewSchedulerServiceProcessor(nil), application.NewApplicationServiceProcessor(nil),
		application.NewExecutorServiceProcessor(nil), peer.NewPeerServiceProcessor(nil), identity.NewIdentityServiceProcessor(nil),
	} {
		for name := range p.ProcessorMap() {
			all[name] = true
		}
	}
	for _, name := range undeclared {
		delete(all, name)
	}
	return all
})
