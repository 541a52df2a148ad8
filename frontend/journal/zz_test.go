package journal

import (
	"fmt"
	"github.com/pigeon-sched/pigeon/internal/api"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	dir := os.Getenv("TF")
	if dir == "" {
		t.Skip()
	}
	j, rep, got, err := tryOpen(dir, Options{})
	t.Log(rep, err)
	if err != nil {
		return
	}
	t.Log(len(got.subs))
	n := 0
	for ; n < 2000; n++ {
		r := accept(fmt.Sprint(rep.Incarnation, "-", n), 1)
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = byte(i * i * n >> 3)
		}
		r.Submission.Request.Tasks[0].Payload = api.Payload{Message: b}
		if err := appendWait(j, r); err != nil {
			t.Log(n, err)
			break
		}
	}
	t.Log(j.Close())
	os.Stdout.Sync()
}
