package server

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/memlog"
)

// standalone opens a host whose loop the test takes the place of, when it serves its shard.
func standalone(t *testing.T) *Host {
	t.Helper()
	network, err := memlog.NewNetwork(memlog.Config{Seed: 1, Hosts: []shard.HostID{1}})
	if err != nil {
		t.Fatal(err)
	}
	network.Start()
	h, err := Open(Config{
		ID: 1, Name: "host-1", Cluster: "test", ClientAddress: "host-1:1", RaftAddress: "host-1:2",
		Hosts: []shard.HostID{1}, Shards: 1,
		Logs: func(group uint64, sm shard.StateMachine) (shard.Log, error) {
			return network.Open(1, memlog.GroupID(group+1), sm)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); h.Ready() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(h.Ready())
		}
	}
	close(h.stop)
	h.loop.Wait()
	t.Cleanup(func() {
		h.closeLogs()
		_ = network.Close()
	})
	return h
}

// A turn looks at the leadership and then acts; in between the leadership may end.
func TestALeadershipThatEndsWithinATurnIsNotBegunAgain(t *testing.T) {
	h := standalone(t)
	r := h.replicas[0]
	found := r.duty.stage()
	if !found.serving || found.term == 0 {
		t.Fatalf("the host serves, and the stage is %+v", found)
	}
	r.duty.end()
	r.duty.act(h.now(), found)
	if r.duty.ready() || r.leases.Fresh(h.now()) {
		t.Fatal("a host whose leadership has ended serves the shard")
	}
	if now := r.duty.stage(); now != (stage{}) {
		t.Fatalf("the stage is %+v", now)
	}
}

func TestALeadershipThatEndsBeforeItsBooksAreOpenNeverServes(t *testing.T) {
	h := standalone(t)
	r := h.replicas[0]
	term := r.duty.stage().term
	r.duty.end()
	// As a turn that had seen the command of the next term applied, when that leadership was over.
	done := make(chan struct{})
	r.duty.begin(term + 1)
	r.pipeline.add(op{done: func(*shard.Effect, protocol.Status) { close(done) }}, &shard.Command{Kind: shard.CmdLead, Term: term + 1})
	r.pipeline.flush()
	<-done
	r.duty.end()
	r.duty.act(h.now(), stage{term: term + 1, proposed: true, begun: true})
	if r.duty.ready() {
		t.Fatal("a host whose leadership has ended serves the shard")
	}
	if lost := r.leases.Unlead(); lost != nil {
		t.Fatal("the books of a leadership that has ended are open")
	}
}
