package guard

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// TestLayoutOfMessages pins how messages are encoded in this version of the protocol. A guard and
// the node monitor that adopts it may be of different builds: whoever changes a message raises
// version, and then the bytes here.
func TestLayoutOfMessages(t *testing.T) {
	all := request{
		Op: opStart, Handle: 300, Mark: "m.1", Grace: time.Second, Kept: []byte("k"), Offset: 7, Data: []byte("d"), Last: true,
		Spec: &Spec{
			Argv: []string{"true"}, Env: []string{"A=1"}, Dir: "/d", MakeDir: true, Spare: "/s", Stdout: "/o", Stderr: "/e", Limit: 9, Rotations: 2,
			Note: []byte("n"), As: &User{UID: 1, GID: 2, Groups: []uint32{3}}, Limits: Limits{Memory: 4, CPUs: 0.5, Processes: 6, Weight: 10},
			Script: &Script{Folder: "/f", Name: "x", Text: []byte("#!")}, Stdin: true,
		},
	}
	end := Event{
		Kind: Ended, Handle: 300, Pid: 12, Reused: true, Status: 0x100, Killed: true, Never: true, Ran: time.Second, Tail: []byte("t"),
		Output: [2]Output{{Kept: 1, Dropped: 2, Fault: "f"}, {}}, Peak: 1 << 40, OutOfMemory: true, AtProcessLimit: true,
		Fault: &Fault{What: "what", Next: "next"}, Input: InputState{Taken: 5, Writing: true, Closed: true},
	}
	for name, tc := range map[string]struct {
		message interface {
			msgp.Marshaler
			msgp.Unmarshaler
		}
		want string
	}{
		"request":          {&all, "000000519901cd012c9e91a47472756591a3413d31a22f64c3a22f73a22f6fa22f650902c4016e93010291039404cb3fe0000000000000060a93a22f66a178c4022321c3a36d2e31d23b9aca00c4016b07c40164c3"},
		"event":            {&end, "000000389f02cd012c0cc3cd0100c3c3d23b9aca00c4017492930102a166930000a0d30000010000000000c3c392a477686174a46e6578749305c3c3"},
		"request of zeros": {&request{}, "0000000c990000c0a000c40000c400c2"},
	} {
		frame, err := appendFrame(nil, tc.message)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(frame); got != tc.want {
			t.Errorf("a %s of version %d is encoded as\n%s\nand was as\n%s", name, version, got, tc.want)
		}
		again := reflect.New(reflect.TypeOf(tc.message).Elem()).Interface().(msgp.Unmarshaler)
		message, err := readFrame(bytes.NewReader(frame), nil)
		if err = errors.Join(err, decode(again, message)); err != nil || name != "request of zeros" && !reflect.DeepEqual(again, any(tc.message)) {
			t.Errorf("a %s is read again as %+v (%v)", name, again, err)
		}
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	frame, err := appendFrame(nil, &Event{Kind: Started})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readFrame(bytes.NewReader(frame[:len(frame)-1]), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame that is cut off: %v", err)
	}
	if message, rest, err := cutFrame(frame[:len(frame)-1]); message != nil || len(rest) != len(frame)-1 || err != nil {
		t.Errorf("a frame that is not complete is cut to %x and %x (%v)", message, rest, err)
	}
	large := []byte{0xff, 0, 0, 0, 0}
	if _, _, err := cutFrame(large); err == nil || !strings.Contains(err.Error(), "256 MiB") {
		t.Errorf("a frame of 4 GB: %v", err)
	}
	if _, err := readFrame(bytes.NewReader(large), nil); err == nil || !strings.Contains(err.Error(), "256 MiB") {
		t.Errorf("a frame of 4 GB: %v", err)
	}
	if err := decode(&Event{}, append(frame[frameHead:], 0)); err == nil {
		t.Error("what follows a message was not noticed")
	}
}
