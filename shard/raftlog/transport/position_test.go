package transport

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestWhoIsBehindWhatItHasConfirmedIsRefused: at either end, with and without a secret, before a message passes. A
// build without positions is accepted.
func TestWhoIsBehindWhatItHasConfirmedIsRefused(t *testing.T) {
	full := []Position{{Shard: testShard, Replica: 1, Term: 5, Last: 100}, {Shard: 8, Replica: 1030, Term: 1 << 60}}
	shorter, earlier := slices.Clone(full), slices.Clone(full)
	shorter[0].Last--
	earlier[0].Term--
	for _, c := range []struct {
		name             string
		dialer, acceptor []Position
		silent           bool // the dialer's build does not report positions
		refused          int  // refused host: 1 the acceptor, 2 the dialer, 0 none
	}{
		{"all is there", full, full, false, 0},
		{"the dialer has fewer entries", shorter, full, false, 2},
		{"the dialer has an earlier term", earlier, full, false, 2},
		{"the dialer has nothing", nil, full, false, 2},
		{"the acceptor has fewer entries", full, shorter, false, 1},
		{"the acceptor has nothing", full, nil, false, 1},
		{"the dialer says nothing", shorter, shorter, true, 0},
	} {
		for _, secret := range [][]byte{nil, testSecret} {
			t.Run(c.name, func(t *testing.T) {
				refused := make(chan int, 2)
				e := newEndpoint(t, withSecret(secret), func(config *Config) {
					config.TurnedAway = func(*Refused) { refused <- 1 }
				})
				e.replicas = &testReplicas{route: routeOf(1, nil), positions: c.acceptor, confirmed: full}
				dialer := newDialer(t, e, func(config *Config) {
					config.TurnedAway = func(*Refused) { refused <- 2 }
				})
				dialer.replicas = &testReplicas{route: routeOf(2, nil), positions: c.dialer, confirmed: full}
				if !c.silent {
					if err := dialer.Start(); err != nil {
						t.Fatal(err)
					}
				}
				d, err := dialer.dialTarget(context.Background(), one)
				if err == nil {
					defer d.close()
				}
				r, ok := errors.AsType[*Refused](err)
				if ok != (c.refused != 0) || err != nil != ok || ok && (r.Code != CodeOlderCopy ||
					!strings.Contains(r.Text, "it says ")) {
					t.Fatalf("it is connected with %v", err)
				}
				if c.refused != 0 {
					if who := <-refused; who != c.refused {
						t.Errorf("host %d hears that it is refused", who)
					}
				}
				if len(e.batches) > 0 {
					t.Error("something came through")
				}
			})
		}
	}
}

// TestPositionsThatAreNotThoseOfThePeerAreRefused flips each bit, and truncates the text everywhere.
func TestPositionsThatAreNotThoseOfThePeerAreRefused(t *testing.T) {
	key := []byte("a key")
	want := []Position{
		{Shard: 1, Replica: 2, Term: 3, Last: 4}, {Shard: 5, Replica: 6, Term: 7, Last: 1 << 63},
	}
	var text bytes.Buffer
	if err := (&exchange{replicas: &testReplicas{positions: want}}).say(&text, key); err != nil {
		t.Fatal(err)
	}
	good := text.Bytes()
	if list, err := readPositions(bytes.NewReader(good), key); err != nil || !slices.Equal(list, want) {
		t.Errorf("%v is read as %v, %v", want, list, err)
	}
	for at := range good {
		if _, err := readPositions(bytes.NewReader(good[:at]), key); err == nil {
			t.Errorf("%d bytes of it are read", at)
		}
		for bit := range 8 {
			bad := slices.Clone(good)
			bad[at] ^= 1 << bit
			if list, err := readPositions(bytes.NewReader(bad), key); err == nil {
				t.Errorf("with bit %d of byte %d flipped it is read as %v", bit, at, list)
			}
		}
	}
	if _, err := readPositions(bytes.NewReader(good), []byte("another key")); err == nil {
		t.Error("it is read with another key")
	}
}
