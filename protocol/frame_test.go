package protocol

import (
	"bytes"
	"errors"
	"testing"
)

func TestScanFrame(t *testing.T) {
	const limit = 10
	for _, c := range []struct {
		name    string
		in      []byte
		payload []byte
		size    int
		err     error
	}{
		{name: "nothing", in: nil, size: 4},
		{name: "half a length", in: []byte{0, 0, 0}, size: 4},
		{name: "only a length", in: []byte{0, 0, 0, 3}, size: 7},
		{name: "half a payload", in: []byte{0, 0, 0, 3, 1, 2}, size: 7},
		{name: "a frame", in: []byte{0, 0, 0, 3, 1, 2, 3}, payload: []byte{1, 2, 3}, size: 7},
		{name: "a frame and a half", in: []byte{0, 0, 0, 1, 9, 0, 0}, payload: []byte{9}, size: 5},
		{name: "at the limit", in: []byte{0, 0, 0, 10}, size: 14},
		{name: "over the limit", in: []byte{0, 0, 0, 11}, err: ErrFrameTooLarge},
		{name: "far over the limit", in: []byte{0xff, 0xff, 0xff, 0xff}, err: ErrFrameTooLarge},
		{name: "another protocol", in: []byte("GET / HTTP/1.1"), err: ErrFrameTooLarge},
		{name: "of no bytes", in: []byte{0, 0, 0, 0, 1}, err: ErrFrameEmpty},
	} {
		t.Run(c.name, func(t *testing.T) {
			payload, size, err := ScanFrame(c.in, limit)
			if !bytes.Equal(payload, c.payload) || (payload == nil) != (c.payload == nil) || size != c.size {
				t.Errorf("got %v, size %d; want %v, size %d", payload, size, c.payload, c.size)
			}
			if !errors.Is(err, c.err) {
				t.Errorf("got error %v, want %v", err, c.err)
			}
		})
	}
}

// TestFramesAreFoundHoweverTheyArrive: a receiver that buffers the bytes ScanFrame has not consumed finds the same
// frames for any split of the stream.
func TestFramesAreFoundHoweverTheyArrive(t *testing.T) {
	var stream []byte
	var want [][]byte
	for _, e := range examples {
		stream = append(stream, e.sample.frame()...)
		want = append(want, e.sample.payload())
	}
	for _, step := range []int{1, 2, 3, 7, 64, 1000, len(stream)} {
		var pending []byte
		var got [][]byte
		for start := 0; start < len(stream); start += step {
			pending = append(pending, stream[start:min(start+step, len(stream))]...)
			for {
				payload, size, err := ScanFrame(pending, 1<<20)
				if err != nil {
					t.Fatalf("steps of %d: %v", step, err)
				}
				if payload == nil {
					if size <= len(pending) {
						t.Fatalf("steps of %d: %d bytes wanted where %d are", step, size, len(pending))
					}
					break
				}
				got = append(got, bytes.Clone(payload))
				pending = pending[size:]
			}
		}
		if len(got) != len(want) {
			t.Fatalf("steps of %d: %d frames, want %d", step, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("steps of %d: frame %d is %x, want %x", step, i, got[i], want[i])
			}
		}
	}
}
