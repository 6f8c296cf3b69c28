package raftlog

import (
	"net"
	"testing"

	"github.com/signalbox/signalbox/internal/testcert"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

func TestHostsWithASecretWorkAndRestart(t *testing.T) {
	all, leader := openConnected(t, nil, func(c *transport.Config) {
		c.Secret = []byte("a secret that is long enough")
	})
	want := leader.mustPropose(0, 10)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
	leader.close()
	leader.open()
	want = append(want, leaderOf(t, all).mustPropose(10, 13)...)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestHostsWorkOverMutualTLS(t *testing.T) {
	authority := testcert.New(t)
	all, leader := openConnected(t, nil, func(c *transport.Config) {
		files := transport.TLS(authority.Sign(t, nameOf(c.Identity.Host)))
		var err error
		if c.TLS, err = files.Load(); err != nil {
			t.Fatal(err)
		}
	})
	want := leader.mustPropose(0, 10)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestHostsWorkOverIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	address := listener.Addr().String()
	listener.Close()
	all := newCluster(t, 3, nil)
	all[1].address = address
	book := all[1].network.Hosts // they share it
	for i := range book {
		if book[i].ID == 2 {
			book[i].Address = address
		}
	}
	openAll(all)
	want := leaderOf(t, all).mustPropose(0, 3)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}
