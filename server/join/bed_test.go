package join

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// bed is a cluster of one or more hosts with the same records.
type bed struct {
	t         *testing.T
	bootstrap identity.Bootstrap

	mu      sync.Mutex // guards what follows
	records *hosts.Records
	leader  shard.HostID
	heard   map[shard.HostID]bool
	lost    bool // proposals have unknown outcomes
	servers map[string]*Server
	intrude func(*Caller, []byte) []byte // changes requests on their way
}

// member is a host of the bed: a Cluster as seen by the host.
type member struct{ *bed }

func (m member) Leader() shard.HostID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader
}

func (m member) Records() (*hosts.Records, uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records.Clone(), 1000, true
}

func (m member) Hears(id shard.HostID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard[id]
}

func (m member) Join(_ context.Context, j hosts.Join) (hosts.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.records.Join(at(), j)
	if m.lost {
		return hosts.Answer{}, errors.New("the outcome is not known")
	}
	return a, nil
}

func at() hosts.At { return hosts.At{Now: 1000, Level: level.Newest} }

// newBed returns a cluster of hosts with these names, led by the first.
func newBed(t *testing.T, secret []byte, names ...string) *bed {
	b := &bed{t: t, leader: 1, heard: make(map[shard.HostID]bool), servers: make(map[string]*Server)}
	var initialMembers []identity.InitialMember
	var found []hosts.InitialMember
	for i, name := range names {
		f := identity.InitialMember{ID: shard.HostID(i + 1), Name: name, Incarnation: draw(), Raft: name + ":7421"}
		initialMembers = append(initialMembers, f)
		found = append(found, hosts.InitialMember{ID: f.ID, Name: name, Incarnation: f.Incarnation, Version: "v1.4.0",
			Level: level.Newest, Addresses: hosts.Addresses{Raft: f.Raft, Client: name + ":7420"}})
	}
	b.bootstrap = identity.NewBootstrap("", 1, initialMembers)
	b.records = hosts.New(b.bootstrap.Cluster, []hosts.ShardID{1})
	if a := b.records.Bootstrap(at(), found); a.Status != protocol.StatusSuccess {
		t.Fatal(a.Text)
	}
	for i, name := range names {
		b.servers[name+":7421"] = NewServer(Config{Self: shard.HostID(i + 1), Bootstrap: b.bootstrap, Secret: secret,
			Cluster: member{b}})
	}
	return b
}

func draw() (i hosts.Incarnation) {
	_, _ = rand.Read(i[:]) // never fails
	return i
}

// token makes a join token.
func (b *bed) token() *Token {
	t := NewToken(Authority{})
	if a := b.records.CreateToken(at(), t.ID, t.Hash(), 60_000); a.Status != protocol.StatusSuccess {
		b.t.Fatal(a.Text)
	}
	return &t
}

var errSilent = errors.New("nothing listens there")

// call is the network. A peer has the given certificate.
func (b *bed) call(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) ([]byte,
	error) {
	return b.callAs(ctx, Caller{}, address, request)
}

func (b *bed) callAs(ctx context.Context, peer Caller, address string,
	request func(peerrpc.Transcript) ([]byte, error)) ([]byte, error) {
	_, _ = rand.Read(peer.Transcript[:]) // never fails
	payload, err := request(peer.Transcript)
	if err != nil {
		return nil, err
	}
	if b.intrude != nil {
		payload = b.intrude(&peer, payload)
	}
	b.mu.Lock()
	server := b.servers[address]
	b.mu.Unlock()
	if server == nil || !IsRequest(payload) {
		return nil, errSilent
	}
	return server.Answer(ctx, peer, payload)
}

// certified is the network for a peer with a certificate.
func (b *bed) certified(c *x509.Certificate) peerrpc.CallUnnamed {
	return func(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) ([]byte, error) {
		return b.callAs(ctx, Caller{Certificate: c}, address, request)
	}
}

// newcomer is a host that asks the bed's first host to join.
func (b *bed) newcomer(name string) *Newcomer {
	d := newDisk()
	return &Newcomer{
		Ask: Ask{Name: name, Incarnation: d.id.Incarnation, Raft: name + ":7421", Client: name + ":7420",
			Version: "v1.4.0", Level: level.Newest},
		Addresses: []string{"a:7421"}, Record: d, Call: b.call,
	}
}

// disk is a joining host's directory. It outlives processes.
type disk struct {
	id     identity.Identity
	secret []byte
	writes int
	// dies is the half-write at which the process dies, counted from 1; 0 for none.
	dies int
}

func newDisk() *disk { return &disk{id: identity.Identity{Incarnation: draw()}} }

var errCrash = errors.New("the process has died")

func (d *disk) write(change func()) error {
	d.writes++
	if d.dies == 2*d.writes-1 {
		return errCrash
	}
	change()
	if d.dies == 2*d.writes {
		return errCrash
	}
	return nil
}

// KeepSecret implements Record.
func (d *disk) KeepSecret(secret []byte) error { return d.write(func() { d.secret = secret }) }

// Join implements Record.
func (d *disk) Join(a identity.Admission) error {
	return d.write(func() { d.id.HostID, d.id.Bootstrap, d.id.Hosts = a.Host, a.Bootstrap, a.Hosts })
}
