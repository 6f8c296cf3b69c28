package protocol

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestEveryMessageSurvivesTheWire(t *testing.T) {
	r, times := rand.New(rand.NewPCG(1, 2)), 60
	if testing.Short() {
		times = 10
	}
	for _, kind := range knownKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			for range times {
				want := randomSample(t, r, kind)
				frame := want.frame()
				payload, size, err := ScanFrame(frame, len(frame))
				if err != nil || size != len(frame) {
					t.Fatalf("scan: %d of %d bytes, %v", size, len(frame), err)
				}
				got, err := decodeSample(kind, payload)
				if err != nil {
					t.Fatalf("decode: %v", err)
				}
				if got.kind != kind || got.id != want.id {
					t.Fatalf("got %s %d, want %s %d", got.kind, got.id, kind, want.id)
				}
				same(t, "decoded", got.render(t), want.render(t))
				if again := got.frame(); !bytes.Equal(again, frame) {
					t.Fatalf("encoded again:\n got %x\nwant %x", again, frame)
				}
			}
		})
	}
}

// TestMissingTrailingFieldsAreZero: an earlier version sends fewer fields. Values from the decoder's previous message
// must not show.
func TestMissingTrailingFieldsAreZero(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range knownKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			full := fullSample(t, r, kind)
			fields := schema(t, kind)
			values := splitArray(t, full.payload())[2:]
			if len(values) != len(fields) {
				t.Fatalf("a full message has %d values for %d fields", len(values), len(fields))
			}
			want := full.render(t)
			zero := emptySample(t, kind).render(t)
			decode := keptDecoder(kind)
			for n := len(fields); n >= 0; n-- {
				got, err := decode(messageOf(kind, values[:n]...))
				if err != nil {
					t.Fatalf("%d of %d fields: %v", n, len(fields), err)
				}
				if n < len(fields) {
					want[fields[n].Name] = zero[fields[n].Name]
				}
				same(t, "decoded", got.render(t), want)
			}
		})
	}
}

// TestUnknownTrailingFieldsAreSkipped: a later version sends more fields in messages, records, and list items.
func TestUnknownTrailingFieldsAreSkipped(t *testing.T) {
	extras := [][]byte{
		{0x05}, {0xff}, {0xc0}, {0xc2}, {0xc3},
		{0xcc, 1}, {0xcd, 1, 2}, {0xce, 1, 2, 3, 4}, {0xcf, 1, 2, 3, 4, 5, 6, 7, 8},
		{0xd0, 1}, {0xd1, 1, 2}, {0xd2, 1, 2, 3, 4}, {0xd3, 1, 2, 3, 4, 5, 6, 7, 8},
		{0xca, 1, 2, 3, 4}, {0xcb, 1, 2, 3, 4, 5, 6, 7, 8},
		{0xa2, 'h', 'i'}, {0xd9, 1, 'h'}, {0xda, 0, 1, 'h'}, {0xdb, 0, 0, 0, 1, 'h'},
		{0xc4, 1, 9}, {0xc5, 0, 1, 9}, {0xc6, 0, 0, 0, 1, 9},
		{0xd4, 1, 2}, {0xd5, 1, 2, 3}, {0xd6, 1, 2, 3, 4, 5}, append([]byte{0xd7, 1}, make([]byte, 8)...),
		append([]byte{0xd8, 1}, make([]byte, 16)...),
		{0xc7, 1, 9, 9}, {0xc8, 0, 1, 9, 9}, {0xc9, 0, 0, 0, 1, 9, 9},
		{0x92, 0x91, 0xc0, 0x81, 0xa1, 'k', 0x90}, {0xdc, 0, 1, 7}, {0xdd, 0, 0, 0, 1, 7},
		{0x81, 0xa1, 'k', 0x93, 1, 2, 3}, {0xde, 0, 1, 1, 2}, {0xdf, 0, 0, 0, 1, 1, 2},
		bytes.Repeat([]byte{0x91}, 1000), // in each item of each list
	}
	// The last extra is nested arrays, which need an innermost value.
	extras[len(extras)-1] = append(extras[len(extras)-1], 0x90)
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range knownKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			full := fullSample(t, r, kind)
			want := full.render(t)
			for i := range extras {
				got, err := decodeSample(kind, addFields(t, full.payload(), 2, schema(t, kind), extras[:i+1]))
				if err != nil {
					t.Fatalf("with %x: %v", extras[i][:min(20, len(extras[i]))], err)
				}
				same(t, "decoded", got.render(t), want)
			}
		})
	}
}

// TestAPushAfterAFailureIsNoFailure: a push carries no result, and must not show the preceding answer's result.
func TestAPushAfterAFailureIsNoFailure(t *testing.T) {
	d := NewAnswerDecoder()
	moved := failure(1, KindAcquire, Result{Status: StatusMoved})
	if a, err := d.Decode(moved.payload()); err != nil || a.Result.Status != StatusMoved {
		t.Fatalf("%v, %v", a, err)
	}
	if a, err := d.Decode(push(1, &Granted{OrderID: 1}).payload()); err != nil || a.Result != (Result{}) {
		t.Errorf("%v, %v", a.Result, err)
	}
}

// fullSample returns a random message with every field set.
func fullSample(t *testing.T, r *rand.Rand, kind Kind) sample {
	t.Helper()
	fields := schema(t, kind)
	for range 100_000 {
		s := randomSample(t, r, kind)
		if len(splitArray(t, s.payload())) == 2+len(fields) {
			return s
		}
	}
	t.Fatalf("no message of kind %s has all its fields", kind)
	return sample{}
}

// keptDecoder returns a function that reuses the same decoder.
func keptDecoder(kind Kind) func(payload []byte) (sample, error) {
	requests, answers := NewRequestDecoder(MaxDataBytes), NewAnswerDecoder()
	return func(payload []byte) (sample, error) {
		if kind.IsRequest() {
			q, err := requests.Decode(payload)
			if err != nil {
				return sample{}, err
			}
			return sample{kind: q.Kind, id: q.ID, message: q.Message()}, nil
		}
		a, err := answers.Decode(payload)
		if err != nil {
			return sample{}, err
		}
		if m := a.Message(); m != nil {
			return sample{kind: a.Kind, id: a.ID, result: a.Result, message: m}, nil
		}
		return sample{kind: a.Kind, id: a.ID, message: a.Push()}, nil
	}
}

// splitArray returns the encoded items in an encoded array.
func splitArray(t *testing.T, b []byte) [][]byte {
	t.Helper()
	c := newCodec()
	c.startReading(b)
	n := c.arrayLen("")
	items := make([][]byte, 0, n)
	for range n {
		start := c.off
		c.skip(1)
		items = append(items, b[start:c.off])
	}
	if c.err != nil || c.rest() > 0 {
		t.Fatalf("not an array: %v, %d bytes left", c.err, c.rest())
	}
	return items
}

// addFields adds encoded values after the fields of an encoded array and all nested arrays of fields. The first before
// items come before the fields.
func addFields(t *testing.T, array []byte, before int, fields []wireField, extras [][]byte) []byte {
	t.Helper()
	items := splitArray(t, array)
	// Omitted trailing fields must be present before more can follow.
	for len(items) < before+len(fields) {
		items = append(items, nilValue)
	}
	for i, f := range fields {
		item := items[before+i]
		if bytes.Equal(item, nilValue) || len(f.Fields) == 0 || f.Fields[0].Name == "" {
			continue
		}
		if f.Type == "record" {
			items[before+i] = addFields(t, item, 0, f.Fields, extras)
			continue
		}
		elements := splitArray(t, item)
		for j := range elements {
			elements[j] = addFields(t, elements[j], 0, f.Fields, extras)
		}
		items[before+i] = longArray(elements)
	}
	return longArray(append(items, extras...))
}

// longArray encodes an array in msgpack's longest form.
func longArray(items [][]byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0xdd}, uint32(len(items)))
	for _, item := range items {
		b = append(b, item...)
	}
	return b
}

// TestEncodingOnlyReads: one message may be sent to many clients at once: a shared refusal, or a change with many
// watchers. The race detector reports writes by encoding.
func TestEncodingOnlyReads(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range knownKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			shared := fullSample(t, r, kind)
			shared.result = Result{
				Status: StatusOverloaded, Message: "later", WaitMillis: 5, Reason: AbortReplaced,
				Moved: Moved{ShardID: 1, LeaderHostID: 2, LeaderAddress: "a:1", RoutingVersion: 3},
			}
			want := shared.frame()
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					if got := shared.encode(&shared.result); !bytes.Equal(got, want) {
						t.Errorf("got %x, want %x", got, want)
					}
				})
			}
			all.Wait()
		})
	}
}
