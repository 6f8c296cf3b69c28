package protocol

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/valyala/bytebufferpool"
)

// unknown are messages with kinds outside this protocol version, and a peer's reaction to each.
var unknown = []struct {
	To      string `json:"to"`
	Payload string `json:"payload"`
	// Then is the peer's reaction. A host answers with UNSUPPORTED or closes the connection. A client ignores the
	// message, treats the message as its request's refusal, or closes the connection if the message answers an open
	// request.
	Then string `json:"then"`
	// Answer is how the host's answer begins: kind, request id and status.
	Answer string `json:"answer,omitempty"`
}{
	{"host", "92 2f 09", "UNSUPPORTED", "6f 09 0f"},
	{"host", "94 cc8f 09 c3 91a178", "UNSUPPORTED", "cccf 09 0f"},
	{"host", "92 ccbf 09", "UNSUPPORTED", "ccff 09 0f"},
	{"host", "92 00 09", "close", ""},
	{"host", "92 30 09", "close", ""},
	{"host", "92 3f 09", "close", ""},
	{"host", "92 6f 09", "close", ""},
	{"host", "92 7f 09", "close", ""},
	{"host", "92 ccc0 09", "close", ""},
	{"host", "92 cd0100 09", "close", ""},
	{"host", "92 cd0140 09", "close", ""},
	{"host", "92 ccbf 00", "close", ""},
	{"host", "92 ce00010000 09", "close", ""},
	{"client", "93 7f 09 01", "ignore", ""},
	{"client", "92 cd0101 00", "ignore", ""},
	{"client", "94 cd013f 09 90 c3", "ignore", ""},
	{"client", "92 cd0140 09", "ignore", ""},
	{"client", "92 cdffff 00", "ignore", ""},
	{"client", "94 6f 09 0f 90", "refusal", ""},
	{"client", "94 cccf 09 0f 91a26e6f", "refusal", ""},
	{"client", "94 ccff 09 0f c0", "refusal", ""},
	{"client", "95 ccff 09 00 90 07", "close if the request is open", ""},
	{"client", "92 ce00010000 09", "close", ""},
}

// TestUnknownKindsAreAnsweredOrIgnored: a host answers a request with an unknown kind if an answer exists for the kind.
// A client reads an answer with any kind. Unknown pushes are ignored.
func TestUnknownKindsAreAnsweredOrIgnored(t *testing.T) {
	requests, answers := NewRequestDecoder(MaxDataBytes), NewAnswerDecoder()
	for _, u := range unknown {
		t.Run(u.To+" "+u.Payload, func(t *testing.T) {
			payload := unhex(t, u.Payload)
			if u.To == "host" {
				_, err := requests.Decode(payload)
				then, answer := afterRequest(t, err)
				if then != u.Then || answer != u.Answer {
					t.Errorf("%v: %s %s, want %s %s", err, then, answer, u.Then, u.Answer)
				}
				return
			}
			a, err := answers.Decode(payload)
			var bad *DecodeError
			then := "refusal"
			switch {
			case errors.As(err, &bad) && bad.UnknownKind && bad.Kind.IsAnswer():
				then = "close if the request is open"
			case errors.As(err, &bad) && bad.UnknownKind:
				then = "ignore"
			case err != nil:
				then = "close"
			case a.ID != 9 || !errors.Is(a.Result.Err(), ErrUnsupported) || a.Message() != nil || a.Push() != nil:
				t.Errorf("read as %v %d, %v", a.Kind, a.ID, a.Result.Err())
			}
			if then != u.Then {
				t.Errorf("%v: %s, want %s", err, then, u.Then)
			}
		})
	}
	compareFile(t, filepath.Join("testdata", "vectors", "unknown.json"), marshal(t, unknown))
}

// afterRequest is a host's reaction to an unreadable request.
func afterRequest(t *testing.T, err error) (then, answer string) {
	t.Helper()
	var bad *DecodeError
	if !errors.As(err, &bad) || !bad.Answerable() {
		return "close", ""
	}
	result := bad.Result()
	var buf bytebufferpool.ByteBuffer
	NewEncoder().Failure(&buf, bad.ID, bad.Kind, &result)
	payload := buf.B[FrameHeaderBytes:]
	a, err := NewAnswerDecoder().Decode(payload)
	if err != nil || a.Kind != bad.Kind.Answer() || a.Result != result {
		t.Errorf("the answer is read as %v, %v", a, err)
	}
	kind := len(kindOnWire(bad.Kind.Answer()))
	head := hex.EncodeToString(payload[1:1+kind]) + " " + hex.EncodeToString(payload[1+kind:2+kind]) + " " +
		hex.EncodeToString(payload[2+kind:3+kind])
	return result.Status.String(), head
}

// kindOnWire is how a kind is written.
func kindOnWire(k Kind) []byte {
	c := newCodec()
	c.startWriting(nil)
	number := uint64(k)
	c.uint("kind", &number)
	return c.written()
}

// TestKindsOfTheFirstBlockTakeOneByte: requests in the first block keep their single byte.
func TestKindsOfTheFirstBlockTakeOneByte(t *testing.T) {
	for _, k := range knownKinds() {
		want := 1
		if k >= minRequest2 {
			want = 2
		}
		if k >= minPush2 {
			want = 3
		}
		if n := len(kindOnWire(k)); n != want {
			t.Errorf("%s takes %d bytes, want %d", k, n, want)
		}
	}
}

func TestAKindSetHoldsWhatWasAnnounced(t *testing.T) {
	announced := list[KindNumber](
		ptr(KindNumber(2)), ptr(KindNumber(128)), ptr(KindNumber(191)), ptr(KindNumber(256)), ptr(KindNumber(319)),
		ptr(KindNumber(320)), ptr(KindNumber(65536+130)), ptr(KindNumber(1<<64-1)),
	)
	set := ReadKinds(&announced)
	for k := Kind(0); k < 400; k++ {
		if want := k < minRequest2 || slices.Contains([]Kind{128, 191, 256, 319}, k); set.Allows(k) != want {
			t.Errorf("%s: allowed is %v", k, !want)
		}
	}
	if (&KindSet{}).Allows(maxKind) || !(&KindSet{}).Allows(KindGoingAway) {
		t.Error("nothing announced allows the first block and no more")
	}
}
