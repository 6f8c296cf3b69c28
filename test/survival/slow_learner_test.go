//go:build linux

package survival_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/wire"
)

// throttled routes all peer traffic to a host through a wire, whose address the host advertises. Call it before the
// host's start.
func (p *place) throttled(t *testing.T) *wire.Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w, mesh := wire.New(p.Raft), &wire.Mesh{}
	mesh.Serve(listener, func(*net.TCPConn) *wire.Wire { return w })
	t.Cleanup(func() { mesh.Close(w) })
	p.Args = append(p.Args, "--raft-advertise", listener.Addr().String())
	return w
}

// TestALearnerThatCannotCatchUpStaysOne: a learner's line is slower than the write rate. The learner never becomes a
// voter, the governor reports its lag, and callers notice nothing. Once the line is fast, the learner becomes a voter.
func TestALearnerThatCannotCatchUpStaysOne(t *testing.T) {
	const (
		data    = 60_000
		allowed = 100 << 10 // bytes a second
		objects = 20
		writing = 50 * time.Millisecond
	)
	places, a := growing(t, "a", "b", "c")
	hosts := []*host{a, places[1].serve(t)}
	hosts[1].awaitReady()
	release := places[2].throttled(t).Throttle(allowed)
	l := newLoadAt(t, addresses(hosts), "/growing", sessions, 4, 2)
	newNode(t, hosts, "/written", protocol.NodeConfig{})
	writer, err := start(addresses(hosts), "/written", 30*time.Second, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.disconnect()
	for i := range objects {
		if err := writer.create(fmt.Sprint("object-", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	written := make(chan error, 1)
	go func() {
		pace := time.NewTicker(writing) // more than passes the line, and not as much as can be
		defer pace.Stop()
		var err error
		for n := 0; err == nil && ctx.Err() == nil; n++ {
			err = writer.update(fmt.Sprint("object-", n%objects), strings.Repeat("x", data))
			select {
			case <-ctx.Done():
			case <-pace.C:
			}
		}
		written <- err
	}()

	places[2].serve(t)
	desk := admin.New(newCounter(t, places[:2]).box)
	lags := func() bool {
		why, err := desk.Why(t.Context())
		return err == nil && slices.ContainsFunc(why.Reasons, func(r admin.Reason) bool {
			return strings.HasPrefix(r.Text, "shard 1: c ") && (r.Code == "lagging" || r.Code == "snapshot")
		})
	}
	for range 3 {
		a.await("the governor says that c lags", lags)
		l.progress(20)
		if role := roleOf(t, desk, 1, "c"); role != admin.Learner && role != admin.None {
			t.Fatalf("c lags and is a %v", role)
		}
	}
	release()
	a.await("c votes", func() bool { return roleOf(t, desk, 1, "c") == admin.Voter })
	stop()
	if err := <-written; err != nil {
		t.Error(err)
	}
	l.check()
	l.record.checkNoSessionEnded()
}

// roleOf returns the role of a host's replica of a shard.
func roleOf(t *testing.T, desk *admin.Admin, shard uint64, host string) (role admin.Role) {
	t.Helper()
	c, err := desk.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var id uint64
	for i := range c.Hosts {
		if c.Hosts[i].Name == host {
			id = c.Hosts[i].ID
		}
	}
	for i := range c.Shards {
		for _, r := range c.Shards[i].Replicas {
			if c.Shards[i].ID == shard && r.Host == id {
				role = r.Role
			}
		}
	}
	return role
}
