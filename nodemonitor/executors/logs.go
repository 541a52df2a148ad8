package executors

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// shownBytes is how much of an output is shown unless the request names another length.
const shownBytes = 1 << 20

// Logs serves GET /applications/{application}/{executor}/{stream}: the end of an
// executor's output, or with ?tail=0 all that is kept of it. The outputs of executors that
// have ended are served for as long after the end of their application as outputs of tasks are kept.
func (m *Manager) Logs() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /applications/{application}/{executor}/{stream}", outputs{m.cfg.Node, m.cfg.Folder, m.folders.kept.root, m.cfg.OutputLimit, m.submitter})
	return mux
}

// outputs serves the outputs in the folders of executors.
type outputs struct {
	node, folder string
	ended        string // folder of what is kept of applications that are over
	limit        int64  // bytes of one file of an output
	submitter    func(app string) string
}

// submitter returns the user that registered an application that is here, "" for none.
func (m *Manager) submitter(app string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.apps[app]; a != nil {
		return a.Submitter
	}
	return ""
}

// ServeHTTP serves one output.
func (o outputs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	app, id, stream := r.PathValue("application"), r.PathValue("executor"), r.PathValue("stream")
	if !api.IsApplicationID(app) || !api.IsApplicationID(id) || stream != "stdout" && stream != "stderr" {
		http.Error(w, "there is no such output: use /applications/APPLICATION/EXECUTOR/stdout, or stderr", http.StatusNotFound)
		return
	}
	in, submitter, missing := o.find(app, id)
	if missing == nil {
		defer func() { _ = in.Close() }() // only read
	}
	if err := access.AllowOn(identity.From(r.Context()), access.ReadOutput, submitter); err != nil {
		http.Error(w, access.About(err, fmt.Sprintf("executor %s of application %s on node %s", id, app, o.node), "reading its output").Error(), http.StatusForbidden)
		return
	}
	tail := int64(shownBytes)
	if t := r.URL.Query().Get("tail"); t != "" {
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil || n < 0 {
			http.Error(w, fmt.Sprintf("tail is %q: use a number of bytes, 0 for all", t), http.StatusBadRequest)
			return
		}
		tail = n
	}
	if missing != nil {
		http.Error(w, fmt.Sprintf("executor %s of application %s has no log on node %s: it was never here, or its application has been over for longer than log_retention, or left more than there is room for", id, app, o.node), http.StatusNotFound)
		return
	}
	pieces, err := o.open(in, stream)
	defer pieces.close()
	if err != nil {
		http.Error(w, fmt.Sprintf("the %s of executor %s of application %s on node %s cannot be read: %v; have the executor leave the files of its output alone", stream, id, app, o.node, err), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	pieces.copyTail(w, tail)
}

// find opens the folder of an executor's outputs, and returns who submitted its application.
func (o outputs) find(app, id string) (in *os.Root, submitter string, err error) {
	if in, err = files.Below(o.folder, app, id); err == nil {
		return in, o.submitter(app), nil
	}
	_, submitter = of(filepath.Join(o.ended, app))
	if in, err = files.Below(o.ended, app, id); err != nil {
		submitter = o.submitter(app)
	}
	return in, submitter, err
}
