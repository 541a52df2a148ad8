package wire

import (
	"context"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/application"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// written returns the bytes of a struct as they travel.
func written(f *testing.F, s thrift.TStruct) []byte {
	f.Helper()
	b, err := thrift.NewTSerializer().Write(context.Background(), s)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzApplication: whatever an application, its wants or an order look like, they
// are read or refused, and an accepted one comes back as it was.
func FuzzApplication(f *testing.F) {
	a := &api.Application{ID: "a", Template: api.Template{Argv: []string{"{{RUNTIME}}/x"}, Memory: 1, Runtime: &api.Runtime{Name: "r", MustHold: []string{"x"}}, Reach: "h:1"}}
	f.Add(written(f, applicationTo(*a)))
	f.Add(written(f, wantsTo(api.Wants{Application: "a", Levels: []api.Level{{Name: "l", Total: 2, Had: 1, Class: "long"}}})))
	f.Add(written(f, orderTo(Order{Frontend: "f", Tenure: 1, Application: *a, Executors: []string{"1"}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(s thrift.TStruct) bool {
			d := thrift.NewTDeserializer()
			return d.Read(context.Background(), s, data) == nil
		}
		if x := application.NewTApplication(); read(x) {
			if got := applicationFrom(x); got.Validate() == nil && !applicationTo(got).Equals(applicationTo(applicationFrom(applicationTo(got)))) {
				t.Errorf("%+v does not come back", got)
			}
		}
		if x := application.NewTWants(); read(x) {
			if got := wantsFrom(x); got.Validate() == nil && !wantsTo(got).Equals(wantsTo(wantsFrom(wantsTo(got)))) {
				t.Errorf("%+v does not come back", got)
			}
		}
		if x := peer.NewTOrder(); read(x) {
			got := orderFrom(x)
			_ = got.Application.Validate() // accepted or not
		}
	})
}
