package wire_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// row is one call that a published client may make, and its outcome.
type row struct {
	name string
	call string
	args fields
	want string // the line that the port records; "" when it is not called
	back string // the fields of the reply
}

var (
	// A task id as Pigeon's clients write it, as Sparrow's do, and with nothing set.
	pigeonTask  = fields{1: "t1", 2: "job", 3: "app", 4: fields{1: "h/10.0.0.1", 2: int32(20503)}, 5: true}
	sparrowTask = fields{1: "t1", 2: "job", 3: "app", 4: fields{1: "10.0.0.1", 2: int32(20503)}}

	pigeonRef  = wire.TaskRef{Task: "t1", Job: "job", App: "app", Scheduler: "10.0.0.1:20503", HT: true}
	sparrowRef = wire.TaskRef{Task: "t1", Job: "job", App: "app", Scheduler: "10.0.0.1:20503"}
)

var schedulerRows = []row{
	{
		"registerFrontend", "registerFrontend", fields{1: "app", 2: "host/10.0.0.1:50201"},
		"register app at 10.0.0.1:50201", "{0:true}",
	},
	{
		"submitJob of Pigeon", "submitJob", fields{1: fields{
			1: "app", 3: fields{1: "ada", 2: "users", 3: int32(-3)}, 4: "nightly", 5: 1500.0,
			2: []fields{
				{1: "a", 2: fields{1: []string{"n1"}, 2: []string{}, 3: int32(5)}, 3: "\x00\x01", 4: true},
				{1: "b", 3: "\xff", 4: false},
			},
		}},
		`submit app="app" user="ada" description="nightly" avg=1500 ht=true group="users" priority=-3 "a":"\x00\x01" "b":"\xff"`, "{}",
	},
	{
		"submitJob of Sparrow", "submitJob", fields{1: fields{
			1: "app", 2: []fields{{1: "a", 3: "m"}, {1: "b", 3: "n"}}, 3: fields{1: "ada", 2: "users", 3: int32(0)},
		}},
		`submit app="app" user="ada" description="" avg=0 ht=false group="users" priority=0 "a":"m" "b":"n"`, "{}",
	},
	{
		"submitJob with as little as can be", "submitJob", fields{1: fields{2: []fields{{}, {}}}},
		`submit app="" user="" description="" avg=0 ht=false "0":"" "1":""`, "{}",
	},
	{
		"submitJob with fields of a later version and of other types", "submitJob", fields{1: fields{
			1: int32(3), 2: []fields{{1: "a", 99: []string{"x"}}}, 5: "soon", 300: fields{1: int64(1)},
		}, 2: "more"},
		`submit app="" user="" description="" avg=0 ht=false "a":""`, "{}",
	},
	{"submitJob without tasks, a ping", "submitJob", fields{1: fields{1: "app", 2: []fields{}}}, "", "{}"},
	{"submitJob with a struct of nothing, a ping", "submitJob", fields{1: fields{}}, "", "{}"},
	{"submitJob without its argument, a ping", "submitJob", fields{}, "", "{}"},
	{
		"sendFrontendMessage", "sendFrontendMessage", fields{1: "app", 2: pigeonTask, 3: int32(2), 4: "hi"},
		fmt.Sprintf(`message app="app" %+v status=2 "hi"`, pigeonRef), "{}",
	},
	{
		"sendFrontendMessage of Sparrow", "sendFrontendMessage", fields{1: "app", 2: sparrowTask, 3: int32(0), 4: ""},
		fmt.Sprintf(`message app="app" %+v status=0 ""`, sparrowRef), "{}",
	},
	{
		"sendFrontendMessage of nothing", "sendFrontendMessage", fields{},
		fmt.Sprintf(`message app="" %+v status=0 ""`, wire.TaskRef{}), "{}",
	},
}

var backendRows = []row{
	{
		"registerBackend of Pigeon, general", "registerBackend", fields{1: "app", 2: "h/10.0.0.2:20101", 3: int32(0)},
		"register app at 10.0.0.2:20101 kind 0", "{0:true}",
	},
	{
		"registerBackend of Pigeon, reserved", "registerBackend", fields{1: "app", 2: "/[::ffff:10.0.0.2]:20101", 3: int32(1)},
		"register app at 10.0.0.2:20101 kind 1", "{0:true}",
	},
	{
		"registerBackend of Sparrow", "registerBackend", fields{1: "app", 2: "10.0.0.2:20101"},
		"register app at 10.0.0.2:20101 kind 0", "{0:true}",
	},
	{
		"registerBackend, ours: resident", "registerBackend", fields{1: "app", 2: "10.0.0.2:20101", 3: int32(2)},
		"register app at 10.0.0.2:20101 kind 2", "{0:true}",
	},
	{
		"taskFinished", "taskFinished", fields{1: []fields{pigeonTask}, 2: fields{1: "/10.0.0.2", 2: int32(20101)}},
		fmt.Sprintf(`finished %+v by "10.0.0.2:20101"`, []wire.TaskRef{pigeonRef}), "{}",
	},
	{
		"taskFinished without a worker", "taskFinished", fields{1: []fields{{}}},
		fmt.Sprintf(`finished %+v by ""`, []wire.TaskRef{{}}), "{}",
	},
	{
		"tasksFinished of Sparrow", "tasksFinished", fields{1: []fields{sparrowTask, {1: "t2"}}},
		fmt.Sprintf(`finished %+v by ""`, []wire.TaskRef{sparrowRef, {Task: "t2"}}), "{}",
	},
	{"tasksFinished of nothing", "tasksFinished", fields{}, `finished [] by ""`, "{}"},
	{
		"sendFrontendMessage", "sendFrontendMessage", fields{1: "app", 2: pigeonTask, 3: int32(-1), 4: "\x00"},
		fmt.Sprintf(`message app="app" %+v status=-1 "\x00"`, pigeonRef), "{}",
	},
	{
		"sendFrontendMessage with an address of nonsense", "sendFrontendMessage",
		fields{1: "app", 2: fields{1: "t", 4: fields{1: "no host", 2: int32(-7)}}},
		fmt.Sprintf(`message app="app" %+v status=0 ""`, wire.TaskRef{Task: "t"}), "{}",
	},
}

// Every published call, by hand, from clients with and without the version in
// their headers, with arguments and fields in both orders.
func TestPublishedCalls(t *testing.T) {
	scheduler, backends := &fakeScheduler{}, &fakeBackends{}
	check := func(rows []row, s *server.Server, port *record) {
		for _, r := range rows {
			for _, client := range rawClients {
				t.Run(r.name+" "+client.String(), func(t *testing.T) {
					kind, back := client.call(t, s.Addr(), r.call, r.args)
					if kind != thrift.REPLY || describe(back) != r.back {
						t.Errorf("the reply is %v %s, want %s", kind, describe(back), r.back)
					}
					if got := strings.Join(port.calls(), "\n"); got != r.want {
						t.Errorf("called\n%s\nwant\n%s", got, r.want)
					}
				})
			}
		}
	}
	check(schedulerRows, servertest.Start(t, wire.SchedulerProcessor(scheduler), server.Options{}), &scheduler.record)
	check(backendRows, servertest.Start(t, wire.BackendProcessor(backends), server.Options{}), &backends.record)
}

// A refusal reaches published clients as the exception their method declares, or
// else as Thrift's own, with its whole text; the next call succeeds.
func TestPublishedRefusals(t *testing.T) {
	refused := &api.Error{Problem: api.Busy, What: "the queue is full", Subject: `job "x"`, Next: "wait"}
	scheduler, backends := &fakeScheduler{}, &fakeBackends{}
	scheduler.fail(refused)
	backends.fail(refused)
	s := servertest.Start(t, wire.SchedulerProcessor(scheduler), server.Options{})
	b := servertest.Start(t, wire.BackendProcessor(backends), server.Options{})
	for _, c := range []struct {
		server *server.Server
		call   string
		args   fields
		kind   thrift.TMessageType
		want   string
	}{
		{s, "submitJob", fields{1: fields{2: []fields{{}}}}, thrift.REPLY, `{1:{1:` + fmt.Sprintf("%q", refused.Error()) + `}}`},
		{s, "registerFrontend", fields{1: "app", 2: "h:1"}, thrift.EXCEPTION, refused.Error()},
		{s, "registerFrontend", fields{1: "app", 2: "nowhere"}, thrift.EXCEPTION, "it has no port"},
		{s, "sendFrontendMessage", fields{}, thrift.EXCEPTION, refused.Error()},
		{s, "launchTask", fields{}, thrift.EXCEPTION, "Unknown function launchTask"},
		{b, "registerBackend", fields{1: "app", 2: "h:1"}, thrift.EXCEPTION, refused.Error()},
		{b, "registerBackend", fields{1: "app", 2: "h:1", 3: int32(3)}, thrift.EXCEPTION, "its type is 3"},
		{b, "registerBackend", fields{}, thrift.EXCEPTION, "it has no port"},
		{b, "taskFinished", fields{2: fields{1: "h", 2: int32(70000)}}, thrift.EXCEPTION, "70000"},
		{b, "tasksFinished", fields{}, thrift.EXCEPTION, refused.Error()},
		{b, "submitJob", fields{}, thrift.EXCEPTION, "Unknown function submitJob"},
	} {
		kind, back := raw{}.call(t, c.server.Addr(), c.call, c.args)
		got := describe(back)
		if text, ok := back[1].(string); ok {
			got = text
		}
		if kind != c.kind || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v %s, want %s", c.call, kind, got, c.want)
		}
	}
	scheduler.fail(errors.New("disk on fire"))
	if _, back := (raw{}).call(t, s.Addr(), "submitJob", fields{1: fields{2: []fields{{}}}}); !strings.Contains(describe(back), "disk on fire") {
		t.Errorf("the reason is lost: %s", describe(back))
	}
}

// A refused submitJob is answered with its exception, and then its connection is closed,
// as the prototypes do; other calls, accepted ones and pings continue over one connection.
func TestRefusedSubmitJobClosesItsConnection(t *testing.T) {
	scheduler := &fakeScheduler{}
	s := servertest.Start(t, wire.SchedulerProcessor(scheduler), server.Options{EndAfter: wire.EndsConnection})
	c, err := net.Dial("tcp", s.Addr().String())
	must(t, err)
	defer c.Close()
	call := func(name string, args fields) (thrift.TMessageType, fields) {
		t.Helper()
		must(t, writeFrame(c, raw{}.message(t, name, thrift.CALL, args)))
		body, err := readFrame(c)
		must(t, err)
		_, kind, _, back := parse(t, body)
		return kind, back
	}
	one := fields{1: fields{2: []fields{{}}}}
	call("submitJob", one)
	call("submitJob", fields{})
	scheduler.fail(&api.Error{Problem: api.Invalid, What: "no"})
	call("registerFrontend", fields{1: "app", 2: "h:1"})
	if kind, back := call("submitJob", one); kind != thrift.REPLY || describe(back) != `{1:{1:"no"}}` {
		t.Fatalf("the refusal is %v %s", kind, describe(back))
	}
	must(t, c.SetReadDeadline(time.Now().Add(await.Limit)))
	if _, err := readFrame(c); !errors.Is(err, io.EOF) {
		t.Fatalf("after the refusal the connection gives %v, want its end", err)
	}
}
