package peerrpc

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func TestACallHasOneAnswer(t *testing.T) {
	asked, err := Read(Request(&protocol.HostNotify{Event: protocol.HostStopping, HostID: 3}))
	if err != nil || asked.Kind != protocol.KindHostNotify || asked.HostNotify.HostID != 3 {
		t.Fatalf("%+v, %v", asked, err)
	}
	if a, err := Result(protocol.KindHostNotify, Answer(&protocol.HostNotifyAnswer{})); err != nil ||
		a.Result.Status != protocol.StatusSuccess {
		t.Errorf("%+v, %v", a, err)
	}
	long := protocol.Result{Status: protocol.StatusNotFound, Message: strings.Repeat("x", 2*protocol.MaxMessageBytes)}
	a, err := Result(protocol.KindHostNotify, Failure(protocol.KindHostNotify, long))
	if err != nil || a.Result.Status != protocol.StatusNotFound || len(a.Result.Message) != protocol.MaxMessageBytes {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := Result(protocol.KindHostBoot, Answer(&protocol.HostNotifyAnswer{})); err == nil {
		t.Error("the answer to another request is taken")
	}
	if _, err := Result(protocol.KindHostBoot, []byte("{}")); err == nil {
		t.Error("what is no answer is taken")
	}
}
