package conn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/signalbox/signalbox/protocol"
)

func TestFramesAreCutHoweverTheyArrive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var stream []byte
	var want [][]byte
	for range 300 {
		payload := make([]byte, 1+random.IntN(1<<random.IntN(19)))
		for i := range payload {
			payload[i] = byte(random.Uint32())
		}
		want = append(want, payload)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(payload))), payload...)
	}
	for what, from := range map[string]io.Reader{
		"all": bytes.NewReader(stream), "halves": iotest.HalfReader(bytes.NewReader(stream)),
		"errors with data": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		f := newFrames(from)
		for i, payload := range want {
			got, err := f.next()
			if err != nil || !bytes.Equal(got, payload) {
				t.Fatalf("%s: frame %d: %d bytes of %d, %v", what, i, len(got), len(payload), err)
			}
		}
		if _, err := f.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", what, err)
		}
		if len(f.buf) > 4<<20 {
			t.Errorf("%s: a buffer of %d bytes", what, len(f.buf))
		}
	}
}

func TestABufferForALargeFrameIsNotKept(t *testing.T) {
	large := append(binary.BigEndian.AppendUint32(nil, 1<<20), make([]byte, 1<<20)...)
	small := []byte{0, 0, 0, 1, 7}
	f := newFrames(io.MultiReader(bytes.NewReader(large), bytes.NewReader(small)))
	for range 2 {
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.buf) > keptBuffer {
		t.Errorf("a buffer of %d bytes is kept", len(f.buf))
	}
}

func TestAFrameOverTheLimitIsRefused(t *testing.T) {
	f := newFrames(bytes.NewReader([]byte{0, 1, 0, 0}))
	f.limit = 1000
	if _, err := f.next(); !errors.Is(err, protocol.ErrFrameTooLarge) {
		t.Errorf("got %v", err)
	}
}
