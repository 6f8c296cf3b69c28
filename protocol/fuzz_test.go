package protocol

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzDecodeRequest(f *testing.F) {
	for _, e := range examples {
		if e.sample.kind.IsRequest() {
			f.Add(e.sample.payload())
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) { fuzzDecode(t, KindHello, payload) })
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, e := range examples {
		if !e.sample.kind.IsRequest() {
			f.Add(e.sample.payload())
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) { fuzzDecode(t, KindGranted, payload) })
}

// fuzzDecode decodes a payload in the direction of kind. An accepted message must encode to bytes that decode to the
// same message. The encoding must not be longer, except for bytes sent as a short text: their head grows by one.
func fuzzDecode(t *testing.T, kind Kind, payload []byte) {
	before := bytes.Clone(payload)
	first, err := decodeSample(kind, payload)
	if !bytes.Equal(before, payload) {
		t.Fatalf("decoding changed the payload")
	}
	if err != nil {
		var decodeErr *DecodeError
		if !errors.As(err, &decodeErr) || decodeErr.Problem == "" {
			t.Fatalf("error %v names nothing", err)
		}
		return
	}
	tree := first.render(t)
	again := first.payload()
	if len(again) > len(payload)+maxFields {
		t.Fatalf("%d bytes encode to %d: %x to %x", len(payload), len(again), payload, again)
	}
	second, err := decodeSample(kind, again)
	if err != nil {
		t.Fatalf("%x encodes to %x, which does not decode: %v", payload, again, err)
	}
	same(t, "decoded again", second.render(t), tree)
	if third := second.payload(); !bytes.Equal(third, again) {
		t.Fatalf("%x encodes to %x", again, third)
	}
}

func FuzzScanFrame(f *testing.F) {
	for _, e := range examples {
		f.Add(e.sample.frame(), 1<<16)
	}
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		payload, size, err := ScanFrame(b, limit)
		switch {
		case err != nil:
			if payload != nil || size != 0 {
				t.Fatalf("%v with %d bytes, size %d", err, len(payload), size)
			}
		case payload == nil:
			if size <= len(b) || size > max(FrameHeaderBytes, FrameHeaderBytes+limit) {
				t.Fatalf("%d bytes wanted where %d are, with limit %d", size, len(b), limit)
			}
		case len(payload) > limit || len(payload) != size-FrameHeaderBytes:
			t.Fatalf("payload of %d bytes in a frame of %d, with limit %d", len(payload), size, limit)
		}
	})
}
