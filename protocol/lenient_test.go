package protocol

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lenient are encodings that no codec in this package writes, but every reader must accept as the named example.
var lenient = []struct {
	Why     string `json:"why"`
	SameAs  string `json:"same_as"`
	Payload string `json:"payload"`
}{
	{"numbers in longer forms than needed", "ping", "92 cf0000000000000002 d200000002"},
	{"an array in a longer form than needed", "ping", "dc0002 02 02"},
	{"an array in the longest form", "ping", "dd00000002 02 02"},
	{"trailing zero fields that are written out", "acquire-answer-not-acquired", "96 5b 1a 00 90 00 00"},
	{"nil for fields that are zero", "acquire-answer-not-acquired", "96 5b 1a c0 c0 c0 c0"},
	{"nil for an empty record and an empty list", "session-list-answer-empty", "96 56 12 00 c0 c0 c0"},
	{"fields of a later version behind the known ones", "ping", "95 02 02 81a16b93010203 c3 d4010a"},
	{"fields of a later version in a record", "node-alter",
		"94 0a 08 aa2f70726f642f6a6f6273 9b 00 00 01 00 00 00 00 c0 c0 c3 c0"},
	{"the zone of a client, in its place", "hello",
		"99 01 01 01 01 a762696c6c696e67 a8676f2f312e342e32 c406733363726574 c0 a4 72616b31"},
	{"the trace of a request, in its place", "forwarded-for",
		"95 cc95 05 06 af3139322e302e322e373a3531323334 c403 010203"},
	{"the holder of a lock, in its place", "acquire-answer-not-acquired", "98 5b 1a 00 90 00 00 00 93 01 02 a161"},
	{"bytes where text is wanted", "node-drop", "93 0b 09 c40a2f70726f642f6a6f6273"},
	{"text where bytes are wanted", "session-bind", "94 12 0e cf7ff0000000013d51 a36b3379"},
	{"text in a longer form than needed", "node-drop", "93 0b 09 db0000000a2f70726f642f6a6f6273"},
}

// rejected are payloads that every reader must refuse, with the fault named in this package's errors.
var rejected = []struct {
	Payload string `json:"payload"`
	Error   string `json:"error"`
}{
	{"90", "an array of 0 items, where a kind and a request id come first"},
	{"91 02", "an array of 1 items, where a kind and a request id come first"},
	{"82 00 02 01 02", "a map where array is wanted"},
	{"92 02", "an array of 2 items in 1 bytes"},
	{"92 02 02 00", "1 bytes behind the message"},
	{"92 a2 02 02", "kind: a string where uint is wanted"},
	{"92 cd0100 02", "kind: not a request kind"},
	{"92 64 02", "kind: not a request kind"},
	{"92 ce00010000 02", "kind: 65536, at most 65535"},
	{"92 02 ff", "request_id: -1 is not a uint"},
	{"92 02 00", "request_id: 0, which belongs to pushes"},
	{"92 02 cb4000000000000000", "request_id: a float where uint is wanted"},
	{"93 03 02 a131", "known_version: a string where uint is wanted"},
	{"dd ffffffff 02 02", "an array of 4294967295 items in 2 bytes"},
	{"94 12 02 01 c4ff00", "session_secret: 255 bytes, at most 16"},
	{"93 09 02 a3ff", "path: the frame ends in the middle of it"},
	{"93 09 02 a2c328", "path: is not UTF-8"},
	{"94 08 02 a12f 91 c3", "config.self_check_period_ms: a bool where uint is wanted"},
	{"93 02 02 ddffffffff", "4294967295 values announced in 0 bytes"},
	{"93 02 02 c1", "the code 0xc1, which msgpack does not use"},
	{"97 10 02 a12f ce001b7741 a0 c400 01", "timeout_ms: 1800001 ms, at most 1800000"},
}

func TestLenientVectors(t *testing.T) {
	for _, l := range lenient {
		t.Run(l.Why, func(t *testing.T) {
			i := slices.IndexFunc(examples, func(e example) bool { return e.name == l.SameAs })
			want := examples[i].sample
			got, err := decodeSample(want.kind, unhex(t, l.Payload))
			if err != nil {
				t.Fatal(err)
			}
			if got.kind != want.kind || got.id != want.id {
				t.Errorf("got %s %d, want %s %d", got.kind, got.id, want.kind, want.id)
			}
			same(t, "decoded", got.render(t), want.render(t))
		})
	}
	compareFile(t, filepath.Join("testdata", "vectors", "lenient.json"), marshal(t, lenient))
}

func TestRejectedVectors(t *testing.T) {
	for _, r := range rejected {
		t.Run(r.Payload, func(t *testing.T) {
			_, err := NewRequestDecoder(DefaultDataBytes).Decode(unhex(t, r.Payload))
			if err == nil || !strings.HasSuffix(err.Error(), ": "+r.Error) {
				t.Errorf("got error %v, want %q", err, r.Error)
			}
		})
	}
	compareFile(t, filepath.Join("testdata", "vectors", "rejected.json"), marshal(t, rejected))
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
