package join

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard/hosts"
)

var someSecret = []byte("a secret that is long enough")

// run lets a host try to join for the given time. The wait reason has the error, unless the error is a refusal.
func run(t *testing.T, n *Newcomer, within time.Duration) (g Grant, awaited string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r := NewRunner(*n)
	g, err = r.Run(ctx)
	return g, r.Awaited(), err
}

func TestAHostThatMayJoinIsOfTheCluster(t *testing.T) {
	certificate := &x509.Certificate{DNSNames: []string{"d"}}
	for name, c := range map[string]struct {
		secret []byte
		by     func(*bed, *Newcomer)
		kept   bool
	}{
		"where nothing is asked for": {nil, func(*bed, *Newcomer) {}, false},
		"by the secret":              {someSecret, func(_ *bed, n *Newcomer) { n.Secret = someSecret }, false},
		"by a token":                 {someSecret, func(b *bed, n *Newcomer) { n.Token = b.token() }, true},
		"by a token, with the secret": {someSecret, func(b *bed, n *Newcomer) {
			n.Token, n.Secret = b.token(), someSecret
		}, false},
		"by a token where no secret is": {nil, func(b *bed, n *Newcomer) { n.Token = b.token() }, false},
		"by its certificate":            {nil, func(b *bed, n *Newcomer) { n.Call = b.certified(certificate) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, c.secret, "a", "b")
				n := b.newcomer("d")
				c.by(b, n)
				g, _, err := run(t, n, time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				h, d := b.records.Named("d"), n.Record.(*disk)
				if h == nil || h.ID != 3 || h.Incarnation != d.id.Incarnation || h.Addresses.Raft != "d:7421" {
					t.Fatalf("on record is %+v", h)
				}
				if d.id.HostID != 3 || d.id.Cluster != b.bootstrap.Cluster || len(g.Hosts) != 3 ||
					len(d.id.Hosts) != 3 {
					t.Errorf("on its disk is %+v", d.id)
				}
				if kept := len(d.secret) > 0; kept != c.kept || kept && !slices.Equal(d.secret, someSecret) {
					t.Errorf("it has kept %q", d.secret)
				}
			})
		})
	}
}

func TestAHostThatMayNotJoinHearsWhy(t *testing.T) {
	withCertificate := func(b *bed, n *Newcomer, name string) {
		n.Call = b.certified(&x509.Certificate{Subject: pkix.Name{CommonName: name}})
	}
	for name, c := range map[string]struct {
		secret []byte
		change func(*bed, *Newcomer)
		want   string
	}{
		"no token": {someSecret, func(*bed, *Newcomer) {}, "give --join-token-file"},
		"another secret": {someSecret, func(_ *bed, n *Newcomer) { n.Secret = []byte("another secret") },
			"is not the cluster secret"},
		"a secret too many": {nil, func(_ *bed, n *Newcomer) { n.Secret = someSecret },
			"omit --raft-secret-file"},
		"a token of another cluster": {someSecret, func(_ *bed, n *Newcomer) {
			token := NewToken(Authority{})
			n.Token = &token
		}, "create another one with signalbox host join-token create"},
		"a guessed secret of a token": {someSecret, func(b *bed, n *Newcomer) {
			token := NewToken(Authority{})
			token.ID = b.token().ID
			n.Token = &token
		}, "create another one with signalbox host join-token create"},
		"a token that is used": {someSecret, func(b *bed, n *Newcomer) {
			n.Token = b.token()
			if a := b.records.Join(at(), hosts.Join{Cluster: b.bootstrap.Cluster, Name: "e", Incarnation: draw(),
				Addresses: hosts.Addresses{Raft: "e:1", Client: "e:2"}, Version: "v1.4.0", Level: level.Newest,
				Token: n.Token.ID}); a.Status != protocol.StatusSuccess {
				b.t.Fatal(a.Text)
			}
		}, "create another one with signalbox host join-token create"},
		"a bad token where none is needed": {nil, func(_ *bed, n *Newcomer) {
			token := NewToken(Authority{})
			n.Token = &token
		}, "the join token is unknown"},
		"a certificate of another": {nil, func(b *bed, n *Newcomer) { withCertificate(b, n, "e") }, "--raft-tls-cert"},
		"a certificate, and no secret": {someSecret, func(b *bed, n *Newcomer) { withCertificate(b, n, "d") },
			"give --join-token-file"},
		"another cluster": {nil, func(_ *bed, n *Newcomer) { n.Ask.ClusterName = "other" },
			"omit --cluster-name other"},
		"another number":      {nil, func(_ *bed, n *Newcomer) { n.Ask.Shards = 4 }, "was created with 1 shards"},
		"a name that is used": {nil, func(_ *bed, n *Newcomer) { n.Ask.Name = "b" }, "--replace b"},
		"a bad domain":        {nil, func(_ *bed, n *Newcomer) { n.Ask.Domain = "rack" }, "--failure-domain"},
		"an old version":      {nil, func(_ *bed, n *Newcomer) { n.Ask.Version = "v1.2.0" }, "version v1.2.0"},
		"a low level":         {nil, func(_ *bed, n *Newcomer) { n.Ask.Level = 0 }, "feature level"},
		"an address that is used": {nil, func(_ *bed, n *Newcomer) { n.Ask.Raft = "b:7421" },
			"b:7421"},
		"a stranger to replace": {nil, func(_ *bed, n *Newcomer) { n.Ask.Replace = "x" }, "no host x"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, c.secret, "a", "b")
				n := b.newcomer("d")
				c.change(b, n)
				before := b.records.Revision()
				_, _, err := run(t, n, time.Minute)
				if _, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if b.records.Revision() != before || n.Record.(*disk).writes != 0 {
					t.Error("something was written down")
				}
			})
		})
	}
}

// TestWhatIsChangedOnTheWayIsNoProof: a proof is valid only for one request on one connection.
func TestWhatIsChangedOnTheWayIsNoProof(t *testing.T) {
	for name, intrude := range map[string]func(*Caller, []byte) []byte{
		"another connection": func(p *Caller, payload []byte) []byte {
			p.Transcript[0]++
			return payload
		},
		"another address": func(_ *Caller, payload []byte) []byte {
			return []byte(strings.Replace(string(payload), "d:7421", "e:7421", 1))
		},
	} {
		for _, by := range []string{"token", "secret"} {
			t.Run(name+" "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, someSecret, "a")
					n := b.newcomer("d")
					if n.Secret = someSecret; by == "token" {
						n.Secret, n.Token = nil, b.token()
					}
					b.intrude = intrude
					_, _, err := run(t, n, time.Minute)
					if _, ok := errors.AsType[*Refused](err); !ok || b.records.Named("d") != nil {
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// TestGrantOfAnUnknownHostIsRejected: the answering host must know the token, or the secret.
func TestGrantOfAnUnknownHostIsRejected(t *testing.T) {
	for _, by := range []string{"token", "secret"} {
		synctest.Test(t, func(t *testing.T) {
			b, stranger := newBed(t, someSecret, "a"), newBed(t, nil, "a")
			n := b.newcomer("d")
			if n.Secret = someSecret; by == "token" {
				n.Secret, n.Token = nil, b.token()
			}
			n.Call = func(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) (
				[]byte, error) {
				return stranger.call(ctx, address, func(t peerrpc.Transcript) ([]byte, error) {
					_, err := request(t)
					return []byte(`{"join":` + asJSON(n.Ask) + `}`), err
				})
			}
			_, awaited, err := run(t, n, time.Second)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(awaited, errGrant.Error()) {
				t.Errorf("%s: got %v, waits for %s", by, err, awaited)
			}
			if n.Record.(*disk).writes != 0 {
				t.Errorf("%s: it is of the cluster of a stranger", by)
			}
		})
	}
}

func TestTheLeaderIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bed, *Newcomer)
		want   string // wait reason, empty if the host joins
	}{
		"by another host": {func(b *bed, _ *Newcomer) { b.leader = 2 }, ""},
		"after one that is not there": {func(_ *bed, n *Newcomer) {
			n.Addresses = []string{"x:7421", "b:7421"}
		}, ""},
		"and there is none": {func(b *bed, _ *Newcomer) { b.leader = 0 }, "a:7421: the meta shard has no leader"},
		"and is not there": {func(b *bed, n *Newcomer) { b.leader = 2; delete(b.servers, "b:7421") },
			errSilent.Error()},
		"and they disagree": {func(b *bed, _ *Newcomer) {
			b.leader = 2
			b.servers["b:7421"] = NewServer(Config{Self: 9, Bootstrap: b.bootstrap, Cluster: member{b}})
		}, "disagree"},
		"and its outcome is lost": {func(b *bed, _ *Newcomer) { b.lost = true }, "the outcome is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "a", "b")
				n := b.newcomer("d")
				c.change(b, n)
				_, awaited, err := run(t, n, 5*time.Second)
				if c.want == "" && err != nil || c.want != "" && !strings.Contains(awaited, c.want) {
					t.Errorf("got %v, waits for %s", err, awaited)
				}
				if c.want == "" {
					return
				}
				// It keeps asking.
				b.mu.Lock()
				b.leader, b.lost = 1, false
				b.mu.Unlock()
				g, _, err := run(t, n, time.Minute)
				if err != nil || g.Host != 3 || len(b.records.Hosts()) != 3 {
					t.Errorf("later: %+v, %v", g, err)
				}
			})
		})
	}
}

func TestAHostIsReplacedOnceItIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		silentAfter time.Duration
		want        bool
	}{
		"silent": {0, true}, "just dead": {2 * time.Second, true}, "alive": {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "a", "b", "c")
				old := b.records.Named("b")
				b.heard[old.ID] = true
				time.AfterFunc(c.silentAfter, func() {
					b.mu.Lock()
					defer b.mu.Unlock()
					b.heard[old.ID] = false
				})
				n := b.newcomer("b")
				n.Ask.Replace, n.Ask.Raft, n.Ask.Client = "b", old.Addresses.Raft, old.Addresses.Client
				_, _, err := run(t, n, time.Minute)
				now := b.records.Named("b")
				if joined := now.Incarnation == n.Ask.Incarnation; joined != c.want || (err == nil) != c.want {
					t.Fatalf("joined %t, %v", joined, err)
				}
				if !c.want {
					if !strings.Contains(err.Error(), "host b is alive") {
						t.Error(err)
					}
					return
				}
				was := b.records.Host(old.ID).Target.Variant
				if was != protocol.HostExpelled || now.Replaces != old.ID {
					t.Errorf("the old one is to be %v, the new one replaces %d", was, now.Replaces)
				}
			})
		})
	}
}

// TestAHostThatDiesWhileItJoinsGoesOn: at any point, even if the answer is lost, and repeatedly.
func TestAHostThatDiesWhileItJoinsGoesOn(t *testing.T) {
	for _, token := range []bool{false, true} {
		for dies := range 5 { // before and after each of two writes; 0: the answer is lost
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, someSecret, "a", "b")
				n := b.newcomer("d")
				if n.Secret = someSecret; token {
					n.Secret, n.Token = nil, b.token()
				}
				d := n.Record.(*disk)
				d.dies = dies
				call := n.Call
				if dies == 0 {
					n.Call = func(ctx context.Context, address string,
						request func(peerrpc.Transcript) ([]byte, error)) ([]byte, error) {
						_, _ = call(ctx, address, request)
						return nil, errSilent
					}
				}
				_, _, err := run(t, n, time.Second)
				if crashed := err != nil; crashed != (dies <= 2 || token) {
					t.Fatalf("write %d, token %t: %v", dies, token, err)
				}
				d.dies, n.Call = 0, call
				if len(d.secret) > 0 {
					n.Secret = d.secret
				}
				if d.id.HostID == 0 {
					if _, _, err := run(t, n, time.Minute); err != nil {
						t.Fatalf("write %d, token %t, again: %v", dies, token, err)
					}
				}
				if d.id.HostID != 3 || len(b.records.Hosts()) != 3 || token && string(d.secret) != string(someSecret) {
					t.Errorf("write %d, token %t: host %d, secret %q, %d hosts on record", dies, token, d.id.HostID,
						d.secret, len(b.records.Hosts()))
				}
			})
		}
	}
}
