package transport

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// openSilent opens the wanted number of silent connections.
func openSilent(t *testing.T, listener Listener, wanted int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, wanted)
	var next atomic.Int64
	var dialling sync.WaitGroup
	for range 32 {
		dialling.Go(func() {
			for i := next.Add(1) - 1; i < int64(wanted); i = next.Add(1) - 1 {
				conn, err := dialTCP(listener)
				if err != nil {
					t.Error(err)
					return
				}
				conns[i] = conn
			}
		})
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
	dialling.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return conns
}

// TestSilentConnectionsShutNoClientOut: valid clients connect in turn beside 5,000 half-open connections from the same
// address, or as many as the open file limit permits.
func TestSilentConnectionsShutNoClientOut(t *testing.T) {
	limit, err := RaiseFileLimit()
	if err != nil {
		t.Fatal(err)
	}
	var stats Stats
	listener, _ := listenTLS(t, TLSOptions{
		Config: localhost.serverConfig(), Stats: &stats, HandshakeTimeout: patience,
	})
	silent := min(5000, limit/4)
	openSilent(t, listener, silent)
	worst := time.Duration(0)
	for range 20 {
		began := time.Now()
		conn, err := echoOverTLS(listener, localhost.clientConfig())
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, time.Since(began))
		_ = conn.Close()
	}
	t.Logf("beside %d silent connections, of which %d were closed, a client was served within %v", silent,
		stats.EvictedHandshakes.Load(), worst)
	if worst > patience/2 {
		t.Errorf("beside %d silent connections, each of which may be so for %v, a client was served after %v", silent,
			patience, worst)
	}
}

// TestASilentConnectionMakesRoomForOthersOfItsAddressFirst fills an address's share and then the listener.
func TestASilentConnectionMakesRoomForOthersOfItsAddressFirst(t *testing.T) {
	var stats Stats
	a, err := newAcceptor("127.0.0.1:0", 100, &stats, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	options := TLSOptions{HalfOpen: 3, HalfOpenPerAddress: 2, HandshakeTimeout: time.Hour, Handshakes: 1}
	table := newHandshakes(a.closing, options.withDefaults(100))
	now := time.Now()
	admit := func(address string, at time.Time) *handshake {
		t.Helper()
		client, err := net.Dial("tcp", a.socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		socket, err := a.socket.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		h, wait := table.tryAdmit(socket.(*net.TCPConn), addressOf(&net.TCPAddr{IP: net.ParseIP(address)}), at)
		if h == nil && wait <= 0 {
			t.Fatal("nothing to wait for")
		}
		return h
	}
	x1, a1, a2 := admit("10.0.0.9", now), admit("10.0.0.1", now), admit("10.0.0.1", now)
	if admit("10.0.0.2", now) != nil {
		t.Fatal("a connection was closed that has hardly been silent")
	}
	late := now.Add(halfOpenSilence)
	if admit("10.0.0.1", late) == nil || !a1.evicted || x1.evicted {
		t.Fatal("the oldest of the address that has its share makes room")
	}
	x1.setSilent(time.Time{})
	if admit("10.0.0.2", late) == nil || !a2.evicted || x1.evicted {
		t.Fatal("the oldest that is silent makes room, not one that computes")
	}
	if n := table.len(); n != 3 {
		t.Errorf("%d are half-open", n)
	}
}

func TestAddressesOfOneNetworkOfVersion6ShareTheirRoom(t *testing.T) {
	of := func(ip string) any { return addressOf(&net.TCPAddr{IP: net.ParseIP(ip), Zone: ""}) }
	if of("2001:db8::1") != of("2001:db8::ffff:1") || of("2001:db8::1") == of("2001:db8:0:1::1") {
		t.Error("a network has 64 bits")
	}
	if of("::ffff:10.0.0.1") != of("10.0.0.1") || of("10.0.0.1") == of("10.0.0.2") {
		t.Error("addresses of version 4 count by themselves")
	}
}

// TestACrowdOfClientsIsServedThoughThereIsLittleRoom connects many more valid clients at once than the half-open limit.
// They compute in this process too: on a slow machine the listener waits for them for a long time.
func TestACrowdOfClientsIsServedThoughThereIsLittleRoom(t *testing.T) {
	var stats Stats
	listener, _ := listenTLS(t, TLSOptions{
		Config: localhost.serverConfig(), Stats: &stats, HalfOpen: 8, HalfOpenPerAddress: 2, HandshakeTimeout: patience,
		silence: patience,
	})
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			conn, err := tls.Dial("tcp", listener.Addr().String(), localhost.clientConfig())
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		})
	}
	clients.Wait()
	f := &fixture{T: t}
	poll(f, "the connections to go", func() bool { return stats.Open.Load() == 0 })
}

// len returns how many connections are half-open.
func (ha *handshakes) len() int {
	ha.mu.Lock()
	defer ha.mu.Unlock()
	return ha.order.Len()
}
