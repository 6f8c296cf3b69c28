package protocol

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// errorRoom is the memory allowed for an error and its text, in addition to twice the frame.
const errorRoom = 1024

// itemRoom is the memory allowed for a one-byte item in a cold message, which decodes every item.
const itemRoom = 512

// kindOf reads the kind of a payload, if present.
func kindOf(payload []byte) Kind {
	c := newCodec()
	c.startReading(payload)
	c.arrayLen("")
	c.left = 1
	var kind uint64
	c.uint("kind", &kind)
	return Kind(kind)
}

// decodeMeasured decodes a payload in both directions and fails the test if decoding takes more memory than twice the
// payload. It returns the errors.
func decodeMeasured(t *testing.T, payload []byte) (asRequest, asAnswer error) {
	t.Helper()
	requests, answers := NewRequestDecoder(MaxDataBytes), NewAnswerDecoder()
	// One-time setup in the library and in the pool of list codecs is not charged to the frame.
	_, _ = requests.Decode(examples[0].sample.payload())
	for _, e := range examples {
		_, _ = answers.Decode(e.sample.payload())
	}
	measure := func(direction string, decode func() error) (err error) {
		most, cost := uint64(2*len(payload)+errorRoom), uint64(0)
		if slices.Contains(coldKinds, kindOf(payload)) {
			most = uint64(itemRoom*len(payload) + errorRoom)
		}
		// The runtime allocates too, now and then; not three times in a row.
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = decode()
			runtime.ReadMemStats(&after)
			if cost = after.TotalAlloc - before.TotalAlloc; cost <= most {
				return err
			}
		}
		t.Errorf("%d bytes as %s cost %d bytes of memory: %v", len(payload), direction, cost, err)
		return err
	}
	asRequest = measure("request", func() error {
		_, err := requests.Decode(payload)
		return err
	})
	asAnswer = measure("answer", func() error {
		_, err := answers.Decode(payload)
		return err
	})
	return asRequest, asAnswer
}

func TestHostilePayloads(t *testing.T) {
	huge := func(code byte) []byte { return []byte{code, 0xff, 0xff, 0xff, 0xff} }
	id := []byte{7}
	acquire := func(fields ...[]byte) []byte { return messageOf(KindAcquire, fields...) }
	zeros := func(n int) [][]byte {
		z := make([][]byte, n)
		for i := range z {
			z[i] = nilValue
		}
		return z
	}
	owners := func(list []byte) []byte {
		return messageOf(KindSemaphoreDescribe.Answer(), append(zeros(3), list)...)
	}
	routing := func(shards []byte) []byte {
		return messageOf(KindRouting.Answer(), append(zeros(5), shards)...)
	}
	for _, c := range []struct {
		name    string
		payload []byte
		err     string // expected error in the message's own direction; empty for none
	}{
		{"nothing", nil, "the frame ends in the middle of it"},
		{"not an array", []byte{0x81, 1, 2}, "a map where array is wanted"},
		{"a number", []byte{5}, "an integer where array is wanted"},
		{"an array of nothing", []byte{0x90}, "where a kind and a request id come first"},
		{"nil", []byte{0xc0}, "where a kind and a request id come first"},
		{"only a kind", []byte{0x91, 27}, "where a kind and a request id come first"},
		{"an array of four billion", huge(0xdd), "an array of 4294967295 items in 0 bytes"},
		{"an array of four billion and a byte", append(huge(0xdd), 1), "an array of 4294967295 items in 1 bytes"},
		{"an array cut in its length", []byte{0xdd, 0, 0}, "the frame ends"},
		{"a kind that is text", arrayOf([]byte{0xa1, 'k'}, id), "kind: a string where uint is wanted"},
		{"a kind too large", arrayOf([]byte{0xce, 0, 1, 0, 0}, id), "kind: 65536, at most 65535"},
		{"a kind below zero", arrayOf([]byte{0xff}, id), "kind: -1 is not a uint"},
		{"an unknown request", arrayOf([]byte{47}, id), "KIND_47 7: kind: not known here"},
		{"an unknown answer", arrayOf([]byte{111}, id), "KIND_111 7: kind: not known here"},
		{"an unknown push", arrayOf([]byte{127}, id), "KIND_127 7: kind: not known here"},
		{"an unknown request of the second block", messageOf(maxRequest2), "KIND_191 7: kind: not known here"},
		{"a request id that is a map", arrayOf([]byte{27}, emptyMap), "request_id: a map where uint is wanted"},
		{"a request id of zero", arrayOf([]byte{27}, []byte{0}), "request_id: 0, which belongs to pushes"},
		{"a number below zero", acquire([]byte{0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
			"ACQUIRE 7: session_id: -1 is not a uint"},
		{"a float", acquire([]byte{0xcb, 0, 0, 0, 0, 0, 0, 0, 0}), "session_id: a float where uint is wanted"},
		{"a number cut short", acquire([]byte{0xcf, 0, 0}), "session_id: the frame ends"},
		{"a name of four gigabytes", acquire(append(zeros(4), huge(0xdb))...), "name: 4294967295 bytes, at most 1024"},
		{"a name cut short", acquire(append(zeros(4), []byte{0xd9, 200, 'a'})...), "name: the frame ends"},
		{"a name cut in its length", acquire(append(zeros(4), []byte{0xda, 0})...), "name: the frame ends"},
		{"a name that is a number", acquire(append(zeros(4), []byte{9})...), "name: an integer where text is wanted"},
		{"a name that is not UTF-8", acquire(append(zeros(4), []byte{0xa2, 0xff, 0xfe})...), "name: is not UTF-8"},
		{"data of four gigabytes", acquire(append(zeros(7), huge(0xc6))...), "data: 4294967295 bytes, at most 1048576"},
		{"data cut short", acquire(append(zeros(7), []byte{0xc6, 0, 0x10, 0, 0, 1, 2, 3})...), "data: the frame ends"},
		{"data that is an extension", acquire(append(zeros(7), []byte{0xd4, 1, 2})...),
			"data: an extension where bytes is wanted"},
		{"a timeout of two days", acquire(append(zeros(6), []byte{0xce, 0x0a, 0x4c, 0xb8, 0})...),
			"wait_ms: 172800000 ms, at most 86400000 or for ever"},
		{"a bool that is a number", acquire(append(zeros(8), []byte{1})...),
			"ephemeral: an integer where bool is wanted"},
		{"a code that msgpack does not use", acquire([]byte{0xc1}),
			"session_id: a code that msgpack does not use where uint is wanted"},
		{"bytes behind the message", append(acquire(), 1, 2, 3), "3 bytes behind the message"},
		{"an unknown field of four billion", acquire(append(zeros(9), huge(0xdd))...),
			"4294967295 values announced in 0 bytes"},
		{"an unknown map of four billion", acquire(append(zeros(9), huge(0xdf))...),
			"8589934590 values announced in 0 bytes"},
		{"an unknown text of four gigabytes", acquire(append(zeros(9), huge(0xdb))...), "the frame ends"},
		{"an unknown extension cut short", acquire(append(zeros(9), []byte{0xc9, 0, 0, 0, 9, 1})...), "the frame ends"},
		{"an unknown code that msgpack does not use", acquire(append(zeros(9), []byte{0xc1})...), "0xc1"},
		{"a million arrays in each other", acquire(append(zeros(9), bytes.Repeat([]byte{0x91}, 1<<20))...),
			"values announced in 0 bytes"},
		{"a million maps in each other", acquire(append(zeros(9), bytes.Repeat([]byte{0x81, 0}, 1<<20))...),
			"2 values announced in 1 bytes"},
		{"arrays in each other, each of four billion", acquire(append(zeros(9), bytes.Repeat(huge(0xdd), 1000))...),
			"values announced in"},
		{"a record that is text", messageOf(KindNodeCreate, nilValue, []byte{0xa1, 'x'}),
			"NODE_CREATE 7: config: a string where array is wanted"},
		{"a record of four billion", messageOf(KindNodeCreate, nilValue, huge(0xdd)),
			"config: an array of 4294967295 items in 0 bytes"},
		{"a wrong field of a record", messageOf(KindNodeCreate, nilValue, []byte{0x91, 0xc3}),
			"config.self_check_period_ms: a bool where uint is wanted"},
		{"a status too large", messageOf(KindPing.Answer(), []byte{0xcd, 1, 0}), "status: 256, at most 255"},
		{"a list of four billion", owners(huge(0xdd)), "owners: an array of 4294967295 items in 0 bytes"},
		{"a list that is bytes", owners([]byte{0xc4, 1, 1}), "owners: bytes where array is wanted"},
		{"a list of a wrong item", owners([]byte{0x92, 0x90, 0x05}), "owners[1]: an integer where array is wanted"},
		{"a wrong field of an item", owners([]byte{0x92, 0x90, 0x92, 1, 0xa0}),
			"owners[1].session_id: a string where uint is wanted"},
		{"a list cut in an item", owners([]byte{0x92, 0x90, 0x92, 1}), "owners[1]: an array of 2 items in 1 bytes"},
		{"a wrong item of a list in a list", routing([]byte{0x91, 0x93, 1, 1, 0x92, 3, 0xc2}),
			"shards[0].replica_host_ids[1]: a bool where uint is wanted"},
		{"many empty items", owners(append([]byte{0xdd, 0, 2, 0, 0}, bytes.Repeat([]byte{0x90}, 1<<17)...)), ""},
		{"many items that are nil", owners(append([]byte{0xdd, 0, 2, 0, 0}, bytes.Repeat(nilValue, 1<<17)...)), ""},
		{"many items of an unknown field", owners(append([]byte{0xdd, 0, 2, 0, 0},
			bytes.Repeat([]byte{0x97, 0, 0, 0, 0xa0, 0, 0x90, 0x90}, 1<<17)...)), ""},
		{"lists of one number in many items", routing(append([]byte{0xdd, 0, 2, 0, 0},
			bytes.Repeat([]byte{0x93, 0, 0, 0x91, 1}, 1<<17)...)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asRequest, asAnswer := decodeMeasured(t, c.payload)
			err := asRequest
			if len(c.payload) > 3 && !Kind(c.payload[3]).IsRequest() && c.payload[3] <= maxOneByte {
				err = asAnswer
			}
			switch {
			case c.err == "" && err != nil:
				t.Errorf("got error %v", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got error %v, want %q", err, c.err)
			}
		})
	}
}

func TestNoPrefixOfAPayloadIsAMessage(t *testing.T) {
	for _, e := range examples {
		payload := e.sample.payload()
		for n := range payload {
			if _, err := decodeSample(e.sample.kind, payload[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken for a message", e.name, n, len(payload))
			}
		}
	}
}

// TestDamagedPayloads: decoding a damaged frame neither panics nor exceeds the memory bound, and every accepted message
// can be read.
func TestDamagedPayloads(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	codes := []byte{0xc0, 0xc1, 0xc6, 0xc9, 0xcf, 0xd3, 0xdb, 0xdd, 0xdf, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xff}
	for _, e := range examples {
		for range 20 {
			payload := bytes.Clone(e.sample.payload())
			for range 1 + r.IntN(3) {
				i := r.IntN(len(payload))
				switch r.IntN(4) {
				case 0:
					payload[i] = byte(r.Uint32())
				case 1:
					payload[i] = codes[r.IntN(len(codes))]
				case 2:
					payload = append(payload[:i], payload[min(len(payload), i+1+r.IntN(3)):]...)
				case 3:
					payload = append(payload[:i], append([]byte{codes[r.IntN(len(codes))]}, payload[i:]...)...)
				}
				if len(payload) == 0 {
					break
				}
			}
			decodeMeasured(t, payload)
			if s, err := decodeSample(e.sample.kind, payload); err == nil {
				s.render(t)
			}
		}
	}
}

func TestErrorsSayWhatToAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload []byte
		want    DecodeError
		status  Status
		message string
	}{
		{
			"a field over its limit", messageOf(KindSessionBind, []byte{1},
				append([]byte{0xc4, 17}, make([]byte, 17)...)),
			DecodeError{
				Kind: KindSessionBind, ID: 7, HasID: true, Field: "session_secret", Problem: "17 bytes, at most 16",
			},
			StatusBadRequest, "session_secret: 17 bytes, at most 16",
		},
		{
			"a kind of a later version", messageOf(44, []byte{1}),
			DecodeError{Kind: 44, ID: 7, HasID: true, Field: "kind", Problem: "not known here", UnknownKind: true},
			StatusUnsupported, "kind: not known here",
		},
		{
			"garbage behind a message", append(messageOf(KindPing), 0),
			DecodeError{Kind: KindPing, ID: 7, HasID: true, Problem: "1 bytes behind the message"},
			StatusBadRequest, "1 bytes behind the message",
		},
		{
			"a request id that no request may have", arrayOf([]byte{2}, []byte{0}),
			DecodeError{Kind: KindPing, Field: "request_id", Problem: "0, which belongs to pushes"},
			StatusBadRequest, "request_id: 0, which belongs to pushes",
		},
		{
			"a request id that cannot be read", arrayOf([]byte{2}, []byte{0xa0}),
			DecodeError{Kind: KindPing, Field: "request_id", Problem: "a string where uint is wanted"},
			StatusBadRequest, "request_id: a string where uint is wanted",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewRequestDecoder(DefaultDataBytes).Decode(c.payload)
			var got *DecodeError
			if !errors.As(err, &got) || *got != c.want {
				t.Fatalf("got %#v, want %#v", err, c.want)
			}
			if result := got.Result(); result.Status != c.status || result.Message != c.message {
				t.Errorf("answers %v, want %s %q", result, c.status, c.message)
			}
			if !errors.Is(err, &Error{Status: c.status}) {
				t.Errorf("%v is not %s", err, c.status)
			}
		})
	}
}

func TestDataIsHeldAgainstTheHostsLimit(t *testing.T) {
	m := &SemaphoreCreate{NodeID: 1, Name: []byte("a"), Data: make([]byte, DefaultDataBytes+1)}
	payload := request(7, m).payload()
	if _, err := NewRequestDecoder(DefaultDataBytes).Decode(payload); err == nil {
		t.Error("a host takes data longer than its limit")
	}
	if _, err := NewRequestDecoder(DefaultDataBytes + 1).Decode(payload); err != nil {
		t.Errorf("a host refuses data at its limit: %v", err)
	}
	m.Data = make([]byte, MaxDataBytes+1)
	if _, err := NewRequestDecoder(1 << 40).Decode(request(7, m).payload()); err == nil {
		t.Error("data longer than the hard limit is taken where a host allows more")
	}
}
