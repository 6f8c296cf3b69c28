package process

import (
	"bytes"
	"errors"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

func TestCodecs(t *testing.T) {
	type value struct {
		Name string
		N    int
	}
	for name, codec := range map[string]Codec{"MsgPack": MsgPack, "JSON": JSON} {
		data, err := encode(codec, value{"a", 7})
		if err != nil {
			t.Fatal(err)
		}
		p, got := payloadOf(data, codec), value{}
		if err := p.Decode(&got); err != nil || got != (value{"a", 7}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err := p.Decode(new(int)); err == nil {
			t.Errorf("%s: a value is read as another type", name)
		}
	}
	for _, v := range []any{"text", []byte("text")} {
		data, err := encode(Raw, v)
		p, text, raw := payloadOf(data, Raw), "", []byte(nil)
		if err != nil || p.Decode(&text) != nil || text != "text" || p.Decode(&raw) != nil || string(raw) != "text" {
			t.Errorf("Raw: %T: %q, %q, %v", v, text, raw, err)
		}
		if p.Decode(new(int)) == nil {
			t.Error("Raw: a text is read as a number")
		}
	}
	if _, err := encode(Raw, 7); !errors.Is(err, client.ErrBadRequest) {
		t.Errorf("Raw: a number is taken: %v", err)
	}
}

// TestNothingIsNothing: nil encodes to no bytes, and decoding no bytes changes nothing.
func TestNothingIsNothing(t *testing.T) {
	for _, codec := range []Codec{MsgPack, JSON, Raw} {
		data, err := encode(codec, nil)
		p, n := payloadOf(data, codec), 7
		if err != nil || len(data) != 0 || p.Decode(&n) != nil || n != 7 {
			t.Errorf("%T: %x, %d, %v", codec, data, n, err)
		}
	}
}

// TestANegativeNumberIsNotSentAsAnotherOne: on the wire a number has no sign.
func TestANegativeNumberIsNotSentAsAnotherOne(t *testing.T) {
	for _, bad := range []Spec{{OpenDelay: -1}, {MaxOpenDelay: -1}, {ReplyTimeout: -1}, {MinMembers: -1},
		{MaxPayload: -1}, {KeepResults: -1}} {
		if err := checkSpec(&bad); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := checkSpec(&Spec{OpenDelay: 1}); err != nil {
		t.Errorf("a spec without a negative number: %v", err)
	}
}

func TestErrorsSayWhatHappened(t *testing.T) {
	reply := func(from uint64, text string) *Reply {
		return replyOf(&protocol.Reply{From: from, Failed: text != "", Data: []byte(text)}, MsgPack)
	}
	all := Replies{reply(1, ""), reply(2, "no room"), reply(3, "no time"), reply(4, "no way"), reply(5, "no")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&MemberFailedError{7, all},
			"4 of 5 members failed; member 2: no room; member 3: no time; member 4: no way; and others"},
		{&MemberFailedError{7, all[:2]}, "1 of 2 members failed; member 2: no room"},
		{&ReplyTimeoutError{PartialReplies{7, all, 2, []uint64{8, 9}}},
			"some members did not reply in time: 5 replies received, 2 missing, from the members 8, 9"},
		{&CancelledError{PartialReplies{Epoch: 7, Replies: all}, ErrCancelled},
			"epoch 7: the epoch is over; 5 replies received"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if text := failureText(errors.New("")); len(text) == 0 {
		t.Error("a failure has no text")
	}
	long := errors.New(string(bytes.Repeat([]byte("x"), 5000)))
	if text := failureText(long); len(text) != protocol.MaxProcessFailureBytes {
		t.Errorf("a text has %d bytes", len(text))
	}
}
