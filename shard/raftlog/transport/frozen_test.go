package transport

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

// TestFramesBetweenHostsAreWhatTheyWere: the bytes between hosts, with and without a secret. A different form needs a
// new handshakeVersion.
func TestFramesBetweenHostsAreWhatTheyWere(t *testing.T) {
	var text strings.Builder
	for _, secret := range []string{"", "the secret of a cluster"} {
		one := Identity{Deployment: 1, Generation: [16]byte{2, 15: 3}, Host: 4,
			Incarnation: hosts.Incarnation{5, 15: 6}, Start: hosts.Start{Number: 7, Draw: 8}}
		two := one
		two.Host = 9
		dialer, acceptor := newHello(&one, []byte(secret), purposeFrames), newHello(&two, []byte(secret), purposeCall)
		for i := range helloSize - helloNonce {
			dialer[helloNonce+i], acceptor[helloNonce+i] = byte(i), byte(100+i)
		}
		fmt.Fprintf(&text, "dialer's hello: %x\nacceptor's hello: %x\n", dialer[:], acceptor[:])
		keys, err := drawKeys([]byte(secret), dialer, acceptor)
		if err != nil {
			t.Fatal(err)
		}
		var sent bytes.Buffer
		_ = sendVerdict(&sent, keys.dialer, nil)
		_ = sendVerdict(&sent, keys.acceptor, &Refused{Code: CodeNotNow, Text: "no"})
		fmt.Fprintf(&text, "proof: %x\nverdicts: %x\n", keys.proof, sent.Bytes())
		var g greeting
		if err := g.setMACs([]byte(secret), keys.frames, keys.answers); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []byte{frameMessages, frameChunk, frameCall, frameAnswer, frameTaken} {
			sent.Reset()
			if err := writeFrame(&sent, g.out, kind, []byte("payload")); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "frame of kind %d: %x\n", kind, sent.Bytes())
		}
	}
	path := filepath.Join("testdata", "frames")
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Fatalf("the frames are gone: %s", path)
	}
	if err != nil || text.String() != string(want) {
		t.Errorf("this build sends\n%s\nnot (%v)\n%s", &text,
			err, want)
	}
}
