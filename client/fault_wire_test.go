package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// say sends raw bytes over all connections.
func (f *fakeCluster) say(b ...byte) {
	f.do(func() {
		for _, h := range f.hosts {
			for c := range h.conns {
				c.out.B = append(c.out.B, b...)
				c.flush()
			}
		}
	})
}

func TestAConnectionThatTalksNonsenseIsReplaced(t *testing.T) {
	for what, b := range map[string][]byte{
		"not the protocol": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "too large": {0xff, 0xff, 0xff, 0xff},
		"an empty frame": {0, 0, 0, 0}, "not an array": {0, 0, 0, 1, 7}, "a broken answer": {0, 0, 0, 4, 0x93, 91, 9,
			0xc3},
	} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				var states stateLog
				lease := acquire(t, session(t, c, states.option()).Semaphore(name, client.Limit(1)))
				fake.say(b...)
				time.Sleep(time.Second)
				states.is(t, client.Attached, client.Detached, client.Attached)
				check(t, lease.Err())
			})
		})
	}
}

func TestPushesOfALaterVersionAreLeftOut(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		var states stateLog
		s := session(t, c, states.option())
		// an unknown kind
		fake.say(0, 0, 0, 4, 0x93, 127, 0, 5)
		// the same, second block
		fake.say(0, 0, 0, 6, 0x93, 0xcd, 1, 63, 99, 5)
		fake.say(0, 0, 0, 5, 0x92, 0xcd, 0xff, 0xff, 0)                                        // the same, in no block
		fake.say(0, 0, 0, 6, 0x94, 0xcc, 194, 99, 0, 0x90)                                     // an answer to nothing
		fake.push(&protocol.WatchResync{})                                                     // no loop watches
		fake.do(func() { fake.sessions[s.ID()].conn.push(99, &protocol.Granted{OrderID: 1}) }) // no acquire waits
		time.Sleep(time.Second)
		states.is(t, client.Attached)
	})
}

func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	parsed, err := x509.ParseCertificate(der)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTheClientSpeaksTLSAndLooksAtTheName(t *testing.T) {
	stageOf(t, 2, 1, func(t *testing.T, fake *fakeCluster) {
		cert, pool := certificate(t, "host-1")
		fake.do(func() { fake.tls = &tls.Config{Certificates: []tls.Certificate{cert}} })
		fake.lead(0)
		c := open(t, fake, client.WithTLS(&tls.Config{RootCAs: pool}))
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		for what, config := range map[string]*tls.Config{"a stranger": {},
			"another name": {RootCAs: pool, ServerName: "host-3"}} {
			if _, err := client.Open(t.Context(), "host-1", client.WithDialer(fake.dial),
				client.WithTLS(config)); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestTCPIsTheDefault(t *testing.T) {
	fake := newFakeCluster(t, 1, 1)
	defer fake.close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	fake.hosts[0].address = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fake.do(func() { fake.hosts[0].serve(conn) })
		}
	}()
	c, err := client.Open(t.Context(), "localhost:"+strings.Split(fake.hosts[0].address, ":")[1]+",127.0.0.1:1")
	check(t, err)
	defer c.Close()
	second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
	s, err := c.Session(t.Context(), path)
	check(t, err)
	lease, err := s.Semaphore(name, client.Limit(1)).Acquire(t.Context())
	check(t, err)
	check(t, lease.Release(t.Context()))
}

func TestAHostThatMovedToAnotherAddressIsFound(t *testing.T) {
	stageOf(t, 2, 1, func(t *testing.T, fake *fakeCluster) {
		fake.lead(0)
		swapped := false
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			if swapped { // host 2 has the former address of host 1
				address = map[string]string{"host-1": "host-2", "host-2": "nowhere", "host-9": "host-1"}[address]
			}
			return fake.dial(ctx, address)
		}
		c, err := client.Open(t.Context(), "host-1,host-2", client.WithDialer(dial))
		check(t, err)
		defer c.Close()
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		lease := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		fake.do(func() {
			swapped = true
			fake.version++
			fake.advertised = map[uint64]string{1: "host-9", 2: "host-1"}
		})
		fake.cut()
		time.Sleep(3 * time.Second)
		check(t, lease.Err())
		check(t, lease.Update(t.Context(), []byte("x")))
		synctest.Wait()
	})
}
