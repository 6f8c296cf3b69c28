//go:build linux

package ydb_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var leaderKills = flag.Int("leader-kills", 2, "with -faults: how many leaders are killed, one every 10 seconds")

const (
	killEvery = 10 * time.Second
	// killRounds is how many rounds every program does between two kills at the least.
	killRounds = 20
)

// TestLeadersThatAreKilled: SDK programs continue while leaders are killed one after another. The only visible effects
// are unknown outcomes for creates and deletes.
func TestLeadersThatAreKilled(t *testing.T) {
	if !*faultsToo {
		t.Skip("it starts processes; run it with -faults")
	}
	hosts := startHosts(t, 3)
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := ports.Addresses[0]
	startGateway(t, build(t, ".", "./signalbox-ydb"), address, strings.Join(process.Addresses(placesOf(hosts)), ","))
	db, err := sdk.Open(t.Context(), "grpc://"+address+database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	programs := &programs{t: t, db: db, stop: make(chan struct{}), went: make(chan struct{}, 1)}
	programs.start("locker", 3, programs.lock)
	programs.start("worker", 3, programs.work)
	programs.start("maker", 2, programs.remake)
	kills := time.NewTicker(killEvery)
	defer kills.Stop()
	for range *leaderKills {
		programs.awaitRounds(killRounds)
		<-kills.C
		i := mostLeading(t, hosts)
		hosts[i].Kill()
		programs.awaitRounds(killRounds)
		if hosts[i], err = hosts[i].Place.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hosts[i].Kill)
		if err := hosts[i].AwaitReady(patience); err != nil {
			t.Fatal(err)
		}
	}
	programs.awaitRounds(killRounds)
	programs.end()
	t.Logf("%d leaders were killed, %d outcomes of creates and deletes were unknown", *leaderKills,
		programs.unknown.Load())
}

// startHosts starts a cluster of n hosts, with the tests' node.
func startHosts(t *testing.T, n int) (hosts []*process.Host) {
	t.Helper()
	program := process.Program{Path: build(t, filepath.Join("..", ".."), "./cmd/signalbox")}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("host-%d", i))
	}
	places, err := process.Places(program, t.TempDir(), names)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		host, err := p.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Kill)
		hosts = append(hosts, host)
	}
	for _, h := range hosts {
		if err := h.AwaitReady(patience); err != nil {
			t.Fatal(err)
		}
	}
	c := nativeClient(t, strings.Join(process.Addresses(places), ","))
	if _, err := c.CreateNode(t.Context(), nodePath, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	return hosts
}

func placesOf(hosts []*process.Host) (places []*process.Place) {
	for _, h := range hosts {
		places = append(places, h.Place)
	}
	return places
}

// mostLeading is the host that leads the most shards.
func mostLeading(t *testing.T, hosts []*process.Host) (most int) {
	t.Helper()
	leads := -1
	for i, h := range hosts {
		n, err := h.Led()
		if err != nil {
			t.Fatal(err)
		}
		if n > leads {
			most, leads = i, n
		}
	}
	return most
}

// programs run on the SDK, round after round, until their stop.
type programs struct {
	t       *testing.T
	db      *sdk.Driver
	stop    chan struct{}
	went    chan struct{} // has a value after a program's round or failure
	all     sync.WaitGroup
	rounds  []*atomic.Int64
	inside  atomic.Int64
	unknown atomic.Int64
}

// start starts programs, each with its own session, which outlasts every leader change.
func (p *programs) start(name string, n int, round func(s coordination.Session, name string) error) {
	p.t.Helper()
	for i := range n {
		s := sessionOf(p.t, p.db)
		done := new(atomic.Int64)
		p.rounds = append(p.rounds, done)
		p.all.Go(func() {
			for {
				select {
				case <-p.stop:
					return
				default:
				}
				err := round(s, fmt.Sprintf("%s-%d", name, i))
				if err != nil {
					p.t.Errorf("%s %d, round %d: %v", name, i, done.Load(), err)
				} else {
					done.Add(1)
				}
				select {
				case p.went <- struct{}{}:
				default:
				}
				if err != nil {
					return
				}
			}
		})
	}
}

// awaitRounds waits until each program has done n more rounds.
func (p *programs) awaitRounds(n int64) {
	p.t.Helper()
	tooLong := time.After(patience)
	for _, done := range p.rounds {
		for want := done.Load() + n; done.Load() < want; {
			select {
			case <-p.went:
			case <-tooLong:
				p.t.Fatalf("programs do not go on: %d of %d rounds", done.Load(), want)
			}
			if p.t.Failed() {
				p.t.FailNow()
			}
		}
	}
}

func (p *programs) end() {
	close(p.stop)
	p.all.Wait()
}

// lock briefly holds a lock shared by all programs.
func (p *programs) lock(s coordination.Session, _ string) error {
	lease, err := s.AcquireSemaphore(p.t.Context(), "lock", coordination.Exclusive, options.WithEphemeral(true))
	if err != nil {
		return err
	}
	if n := p.inside.Add(1); n != 1 {
		return fmt.Errorf("%d have the lock", n)
	}
	if err := lease.Context().Err(); err != nil {
		return fmt.Errorf("the lease: %w", err)
	}
	p.inside.Add(-1)
	return lease.Release()
}

// work briefly owns the task, and checks that no program owns it at the same time.
func (p *programs) work(s coordination.Session, task string) error {
	lease, err := s.AcquireSemaphore(p.t.Context(), task, coordination.Exclusive, options.WithEphemeral(true))
	if err != nil {
		return err
	}
	d, err := s.DescribeSemaphore(p.t.Context(), task, options.WithDescribeOwners(true))
	if err != nil {
		return err
	}
	if len(d.Owners) != 1 || d.Owners[0].SessionID != s.SessionID() {
		return fmt.Errorf("%s is %v; want an owner of session %d", task, d, s.SessionID())
	}
	return lease.Release()
}

// remake creates, writes and removes the program's semaphore.
func (p *programs) remake(s coordination.Session, name string) error {
	ctx := p.t.Context()
	if err := p.orUnknown(s.CreateSemaphore(ctx, name, 1)); err != nil {
		return err
	}
	if err := s.UpdateSemaphore(ctx, name, options.WithUpdateData([]byte(name))); err != nil {
		return err
	}
	return p.orUnknown(s.DeleteSemaphore(ctx, name, options.WithForceDelete(true)))
}

// orUnknown ignores an unknown outcome.
func (p *programs) orUnknown(err error) error {
	if errors.Is(err, coordination.ErrOperationStatusUnknown) {
		p.unknown.Add(1)
		return nil
	}
	return err
}
