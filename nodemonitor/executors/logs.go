package executors

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// shownBytes is how much of an output is shown unless the request names another length.
const shownBytes = 1 << 20

// Logs serves GET /applications/{application}/{executor}/{stream}: the end of an
// executor's output, or with ?tail=0 all that is kept of it. The outputs of executors that
// have ended are served until their application is over.
func (m *Manager) Logs() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /applications/{application}/{executor}/{stream}", outputs{m.cfg.Node, m.cfg.Folder})
	return mux
}

// outputs serves the outputs in the folders of executors.
type outputs struct{ node, folder string }

// ServeHTTP serves one output.
func (o outputs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	app, id, stream := r.PathValue("application"), r.PathValue("executor"), r.PathValue("stream")
	if !api.IsApplicationID(app) || !api.IsApplicationID(id) || stream != "stdout" && stream != "stderr" {
		http.Error(w, "there is no such output: use /applications/APPLICATION/EXECUTOR/stdout, or stderr", http.StatusNotFound)
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
	folder := filepath.Join(o.folder, app, id)
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		http.Error(w, fmt.Sprintf("executor %s of application %s has no log on node %s: it was never here, or its application is over", id, app, o.node), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	copyTail(w, filepath.Join(folder, stream), tail)
}

// copyTail writes the last bytes of an output over all its files, 0 for all. A file that
// is rotated away meanwhile is left out.
func copyTail(w io.Writer, path string, tail int64) {
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = f.Close() // only read
		}
	}()
	all := int64(0)
	var sizes []int64
	for i := rotations; i >= 0; i-- {
		name := path
		if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		// Never through a link: the folder is the executor's to write in.
		f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		open = append(open, f)
		size := int64(0)
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		sizes = append(sizes, size)
		all += size
	}
	skip := int64(0)
	if tail > 0 {
		skip = max(0, all-tail)
	}
	for i, f := range open {
		from := min(skip, sizes[i])
		skip -= from
		if _, err := io.Copy(w, io.NewSectionReader(f, from, sizes[i]-from)); err != nil {
			return // the client has disconnected
		}
	}
}
