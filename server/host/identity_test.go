package host

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/bootstrap"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/settings"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// startSome starts hosts without waiting until they are ready.
func startSome(t *testing.T, all ...settings.Settings) (hosts []*Host) {
	t.Helper()
	for _, s := range all {
		h, err := Start(Options{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		hosts = append(hosts, h)
	}
	return hosts
}

func awaitReady(t *testing.T, hosts ...*Host) {
	t.Helper()
	for _, h := range hosts {
		if err := h.WaitReady(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitFailure waits until a host cannot go on, and returns why.
func awaitFailure(t *testing.T, h *Host) error {
	t.Helper()
	select {
	case <-h.Done():
		return h.Err()
	case <-within(t, time.Minute).Done():
		t.Fatalf("it goes on: %v", h.Ready())
		return nil
	}
}

func TestHostThatOthersCanReachDoesNotBootstrapAlone(t *testing.T) {
	for name, change := range map[string]func(*settings.Settings){
		"a Raft address": func(s *settings.Settings) {
			s.RaftListen = s.InitialHosts[0].Raft
			s.InitialHosts,
				s.Name = nil, ""
		},
		"a list of one":     func(s *settings.Settings) {},
		"clients elsewhere": func(s *settings.Settings) { s.InitialHosts, s.Name, s.Listen = nil, "", "0.0.0.0:0" },
		"pages elsewhere": func(s *settings.Settings) {
			s.InitialHosts, s.Name, s.AdminListen = nil, "",
				"0.0.0.0:0"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newClusterSettings(t, "a")[0]
			s.Insecure, s.Advertise = settings.PartsAll, "127.0.0.1:0"
			change(&s)
			_, err := Start(Options{Settings: s})
			if !errors.Is(err, ErrNotBootstrapped) || KindOf(err) != KindData ||
				!strings.Contains(err.Error(), "signalbox init --data-dir "+s.DataDir) {
				t.Fatalf("got %v", err)
			}
			made, err := Init(Options{Settings: s})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Init(Options{Settings: s}); !errors.Is(err, ErrExists) {
				t.Errorf("made again: %v", err)
			}
			h := start(t, Options{Settings: s})
			if got := h.Identity(); got.Cluster != made.Cluster || got.Incarnation != made.Incarnation ||
				got.Starts != 1 {
				t.Errorf("made %+v, started %+v", made, got)
			}
			h.Close()
			if err := os.RemoveAll(s.DataDir); err != nil {
				t.Fatal(err)
			}
			if _, err := Start(Options{Settings: s}); !errors.Is(err, ErrNotBootstrapped) {
				t.Errorf("wiped: %v", err)
			}
		})
	}
}

// TestInitGoesOnWhereItWasKilled: the directory has an incarnation, and no cluster yet.
func TestInitGoesOnWhereItWasKilled(t *testing.T) {
	s := newSettings(t)
	d, err := identity.Claim(s.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Make(identity.Expected{HostName: settings.DefaultName, Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	d.Release()
	if id, err := Init(Options{Settings: s}); err != nil || !id.Bootstrapped() {
		t.Errorf("got %+v, %v", id, err)
	}
}

func TestAWipedHostIsNotLetInAgain(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	cluster := hosts[0].Identity().Cluster
	for i, wiped := range all {
		hosts[i].Close()
		if err := os.Rename(wiped.DataDir, wiped.DataDir+".away"); err != nil {
			t.Fatal(err)
		}
		empty := startSome(t, wiped)[0]
		err := awaitFailure(t, empty)
		if _, ok := errors.AsType[*bootstrap.ExcludedError](err); !ok ||
			!strings.Contains(err.Error(), "signalbox serve "+
				"--join ") ||
			!strings.Contains(err.Error(), " --name "+wiped.Name+" --replace "+wiped.Name) {
			t.Errorf("host %s: %v", wiped.Name, err)
		}
		// Its own directory is accepted.
		empty.Close()
		if err := errors.Join(os.RemoveAll(wiped.DataDir), os.Rename(wiped.DataDir+".away",
			wiped.DataDir)); err != nil {
			t.Fatal(err)
		}
		hosts[i] = startSome(t, wiped)[0]
		awaitReady(t, hosts...)
	}
	if got := hosts[0].Identity().Cluster; got != cluster {
		t.Errorf("cluster %s became %s", cluster, got)
	}
}

func TestAWipedHostWaitsWhileNoOtherAnswers(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	for _, h := range hosts {
		h.Close()
	}
	if err := os.RemoveAll(all[1].DataDir); err != nil {
		t.Fatal(err)
	}
	b := startSome(t, all[1])[0]
	if err := b.WaitReady(within(t, time.Second)); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "waiting for a at "+all[0].InitialHosts[0].Raft) ||
		!strings.Contains(err.Error(), "c at "+all[0].InitialHosts[2].Raft) {
		t.Errorf("it says: %v", err)
	}
	if id := b.Identity(); id.Bootstrapped() {
		t.Errorf("it is bootstrapped: %+v", id)
	}
	// One host that knows the cluster is enough to stop the wiped host.
	startSome(t, all[2])
	if _, ok := errors.AsType[*bootstrap.ExcludedError](awaitFailure(t, b)); !ok {
		t.Errorf("got %v", b.Err())
	}
}

// copyDirectory copies a host's directory, and returns a function that restores the directory like a disk rollback: the
// directory does not record that it is a copy.
func copyDirectory(t *testing.T, dir string) (putBack func()) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(kept))); err != nil {
			t.Fatal(err)
		}
		d, err := identity.Claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Release()
		if _, err := d.Moved(true); err != nil {
			t.Fatal(err)
		}
	}
}

func isOlderCopy(err error) bool {
	r, ok := errors.AsType[*rafttransport.Refused](err)
	return ok && r.Code == rafttransport.CodeOlderCopy
}

func TestAnOlderCopyOfADirectoryIsRefused(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	hosts[1].Close()
	putBack := copyDirectory(t, all[1].DataDir)
	later := startSome(t, all[1])[0]
	awaitReady(t, later)
	later.Close()
	putBack()
	_, err := Start(Options{Settings: all[1]})
	if !isOlderCopy(err) || KindOf(err) != KindData ||
		!strings.Contains(err.Error(), "this is start number 2, but start number 2 was seen before") ||
		!strings.Contains(err.Error(), "--name b --replace b") {
		t.Fatalf("got %v", err)
	}
	awaitReady(t, hosts[0], hosts[2])

	// Started while no host can object, the copy exits as soon as a host can.
	hosts[0].Close()
	hosts[2].Close()
	putBack()
	b := startSome(t, all[1])[0]
	startSome(t, all[0])
	if err := awaitFailure(t, b); !isOlderCopy(err) {
		t.Errorf("got %v", err)
	}
}

func TestWhoIsAdmitted(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	impostor := rafttransport.Peer{Identity: hosts[1].asPeer(), Certificate: &x509.Certificate{DNSNames: []string{"x"}}}
	if r, ok := errors.AsType[*rafttransport.Refused](hosts[0].admit(impostor)); !ok ||
		r.Code != rafttransport.CodeOtherCertificate {
		t.Errorf("a certificate with another name: %v", r)
	}
	for _, c := range []struct {
		name   string
		change func(*rafttransport.Identity)
		code   rafttransport.Code // zero: admitted
	}{
		{"a later start while it lives", func(i *rafttransport.Identity) { i.Start.Number++ },
			rafttransport.CodeOlderCopy},
		{"as it is", func(*rafttransport.Identity) {}, 0},
		{"another process of its " +
			"number", func(i *rafttransport.Identity) { i.Start.Draw++ }, rafttransport.CodeOlderCopy},
		{"another " +
			"incarnation", func(i *rafttransport.Identity) { i.Incarnation[0]++ }, rafttransport.CodeOtherIncarnation},
		{"an unknown host", func(i *rafttransport.Identity) { i.Host = 9 }, rafttransport.CodeNotNow},
		{"a later start once it is gone", func(i *rafttransport.Identity) {
			hosts[1].Close()
			i.Start.Number++
		}, 0},
		{"the start before", func(*rafttransport.Identity) {}, rafttransport.CodeOlderCopy},
	} {
		peer := hosts[1].asPeer()
		c.change(&peer)
		err := hosts[0].admit(rafttransport.Peer{Identity: peer})
		r, refused := errors.AsType[*rafttransport.Refused](err)
		if refused != (c.code != 0) || refused && r.Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAHostWithOthersNeedsAnAddressForThem(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	hosts[0].Close()
	without := all[0]
	without.InitialHosts = nil // the list is no longer needed
	if _, err := Start(Options{Settings: without}); err == nil || KindOf(err) != KindSettings ||
		!strings.Contains(err.Error(), "must be able to reach host a; give the address") {
		t.Fatalf("got %v", err)
	}
	without.RaftListen = all[0].InitialHosts[0].Raft
	again := startSome(t, without)[0]
	awaitReady(t, again, hosts[1])
	if got := again.Identity().Cluster; got != hosts[1].Identity().Cluster {
		t.Errorf("cluster %s", got)
	}
}

func TestAHostMayMoveToAnotherAddress(t *testing.T) {
	all := newClusterSettings(t, "a", "b", "c")
	hosts := startSome(t, all...)
	awaitReady(t, hosts...)
	for _, h := range hosts {
		h.Close()
	}
	moved := newClusterSettings(t, "a", "b", "c")
	for i := range all {
		all[i].InitialHosts = moved[i].InitialHosts
	}
	awaitReady(t, startSome(t, all...)...)
}

// TestTheDirectorySaysWhichFeatureLevelItsDataHas: older packages use it to refuse the data. The level rises when the
// host has registered, and is recorded soon after, at the latest when the host stops.
func TestTheDirectorySaysWhichFeatureLevelItsDataHas(t *testing.T) {
	s := newSettings(t)
	h := start(t, Options{Settings: s})
	noted := func() level.Level {
		l, err := identity.ReadLevel(s.DataDir)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for end := within(t, time.Minute); noted() != level.Newest; {
		select {
		case <-end.Done():
			t.Fatalf("level %d is on record, and the cluster is at %v", noted(), h.core.Load().Level())
		case <-time.After(readyPoll):
		}
	}
	h.Close()
	if got := noted(); got != level.Newest {
		t.Errorf("a stop leaves level %d on record", got)
	}
}
