package launchsecret

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The vector of 8 bytes of the authors' reference program: key 00 01 ... 0f, message 00 01 ... 07.
func TestSipHashVector(t *testing.T) {
	key := make([]byte, 16)
	for i := range key {
		key[i] = byte(i)
	}
	word := binary.LittleEndian.Uint64(key[:8])
	got := sipHash(binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:]), word)
	want := binary.LittleEndian.Uint64([]byte{0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93})
	if got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

func ids(t *rapid.T, label string) sched.AttemptID {
	return sched.AttemptID{
		Job:  sched.JobID{Hi: rapid.Uint64().Draw(t, label+" hi"), Lo: rapid.Uint64().Draw(t, label+" lo")},
		Task: rapid.Int32Min(0).Draw(t, label+" task"), Attempt: rapid.Int32Min(1).Draw(t, label+" attempt"),
	}
}

// A secret proves its own attempt and no other, under its own key and no other, whatever was
// asked before.
func TestASecretProvesOneAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mine, others := NewJobs(NewKey()), NewJobs(NewKey())
		a, b := ids(t, "a"), ids(t, "b")
		secret := mine.Secret(a)
		if secret == 0 || !mine.Proves(a, secret) || mine.Key(a.Job).Attempt(a.Task, a.Attempt) != secret {
			t.Fatalf("%d does not prove its attempt", secret)
		}
		near := a
		near.Attempt++
		for _, other := range []sched.AttemptID{b, near} {
			if other != a && mine.Proves(other, secret) {
				t.Fatalf("the secret of %v proves %v", a, other)
			}
		}
		if others.Proves(a, secret) || mine.Proves(a, 0) || !mine.Proves(a, secret) {
			t.Fatal("another key's secret, or none, proves the attempt")
		}
	})
}

// Without a key there are no secrets, and nothing is proven.
func TestWithoutAKey(t *testing.T) {
	var none *Jobs
	for _, j := range []*Jobs{none, {}} {
		if s := j.Secret(sched.AttemptID{Attempt: 1}); s != 0 || j.Proves(sched.AttemptID{Attempt: 1}, s) {
			t.Errorf("secret %d", s)
		}
	}
}

// Neither a launch nor a report allocates for its secret.
func TestSecretsDoNotAllocate(t *testing.T) {
	j := NewJobs(NewKey())
	id, proven := sched.AttemptID{Attempt: 1}, true
	if n := testing.AllocsPerRun(1000, func() {
		id.Job.Lo++ // another job each time, which is the dearest
		proven = proven && j.Proves(id, j.Secret(id))
	}); n != 0 || !proven {
		t.Errorf("%v allocations; proven: %v", n, proven)
	}
}

func BenchmarkProves(b *testing.B) {
	j := NewJobs(NewKey())
	id := sched.AttemptID{Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		id.Job.Lo++
		j.Proves(id, 1)
	}
}
