//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/signalbox/signalbox/test/history"
)

var lock = history.Semaphore{Node: "/chaos/test", Name: "lock"}

// TestAClientProcessReportsAndIsAnswered has a run and a client process exchange messages, without the process.
func TestAClientProcessReportsAndIsAnswered(t *testing.T) {
	var out bytes.Buffer
	p := newPipe(&out)
	p.Add(history.Entry{Client: 3, Number: 1, Hold: &history.Hold{Semaphore: lock, To: history.Never}})
	var r clientReport
	err := json.NewDecoder(&out).Decode(&r)
	if err != nil || r.Entry == nil || r.Entry.Client != 3 || r.Entry.Hold.To != history.Never {
		t.Errorf("the run reads %+v, %v", r, err)
	}
	asked, answers := io.Pipe()
	p = newPipe(answers)
	go func() {
		var r clientReport
		_ = json.NewDecoder(asked).Decode(&r)
		p.answer(writeAnswer{Number: r.Write.Number, At: 7, Accepted: r.Write.Token == 5})
	}()
	if at, accepted := p.Write(lock, 5); at != 7 || !accepted {
		t.Errorf("the client is answered %v, %v", at, accepted)
	}
	if err := Serve(bytes.NewReader(nil), io.Discard); err == nil {
		t.Error("a client process whose run is gone goes on")
	}
}
