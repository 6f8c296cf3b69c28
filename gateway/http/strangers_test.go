package http

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/testcert"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/transport"
)

const (
	// crowd is the number of a stranger's connections: more than the limit of the tests' gateway.
	crowd, connections = 1300, 512
	// soon bounds the wait for another client's answer meanwhile.
	soon = time.Second
)

// door is a gateway that listens at a port, in front of a cluster.
type door struct {
	*stage
	*Server
	config *tls.Config
}

func newDoor(t *testing.T, config *tls.Config, change func(*Config)) *door {
	t.Helper()
	if _, err := transport.RaiseFileLimit(); err != nil {
		t.Log(err)
	}
	st := newStage(t, change)
	if _, err := st.client.CreateNode(t.Context(), "/a", client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	s, err := Listen("127.0.0.1:0", st.gateway, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &door{st, s, config}
}

// lettingIn accepts only clients with the token good.
func lettingIn(c *Config) {
	known := &tokens{token: "good", open: c.Open}
	c.Open = known.check
}

// from dials from an address of this machine.
func (d *door) from(address string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: patience}
	return dialer.DialContext(d.Context(), "tcp", d.Addr().String())
}

// customer is a client at an address, with a kept connection.
func (d *door) customer(address string) *http.Client {
	transport := &http.Transport{
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return d.from(address) },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	d.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// served checks that a customer is answered soon.
func (d *door) served(who string, by *http.Client) {
	d.Helper()
	scheme := "http://"
	if d.config != nil {
		scheme = "https://"
	}
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/nodes", ""}, {http.MethodPost, "/v1/node/create", `{"node":"/a"}`},
	} {
		for try := 1; ; try++ {
			took, err := d.ask(by, request.method, scheme+d.Addr().String()+request.path, request.body)
			if err == nil && took > soon && try < 3 {
				continue // a busy machine is slow now and then, and the stranger holds the crowd all the while
			}
			if err != nil || took > soon {
				d.Errorf("%s: %s %s is answered after %v: %v", who, request.method, request.path, took, err)
			}
			break
		}
	}
}

// ask makes a request with a good token, and returns how long a good answer took.
func (d *door) ask(by *http.Client, method, url, body string) (time.Duration, error) {
	d.Helper()
	return d.askAs(by, "good", method, url, body)
}

// askAs is ask with a token, or without one if it is empty.
func (d *door) askAs(by *http.Client, token, method, url, body string) (time.Duration, error) {
	d.Helper()
	r, err := http.NewRequestWithContext(d.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := by.Do(r)
	if err != nil {
		return time.Since(began), err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	return time.Since(began), err
}

// besiege opens a crowd of connections from some addresses, sends something over each, and holds all until the test
// ends.
func (d *door) besiege(addresses func(i int) string, says string) {
	d.Helper()
	held := make([]net.Conn, crowd)
	var opening sync.WaitGroup
	for worker := range 16 {
		opening.Go(func() {
			for i := worker; i < crowd; i += 16 {
				c, err := d.from(addresses(i))
				if err != nil {
					continue // already closed in favour of others
				}
				held[i] = c
				_, _ = io.WriteString(c, says) // as above
			}
		})
	}
	opening.Wait()
	opened := 0
	for _, c := range held {
		if c != nil {
			opened++
			d.Cleanup(func() { c.Close() })
		}
	}
	if opened < crowd*9/10 {
		d.Fatalf("the stranger has opened %d connections", opened)
	}
}

func oneAddress(int) string { return "127.0.0.1" }

func manyAddresses(i int) string { return fmt.Sprintf("127.1.%d.%d", i>>8, i&255) }

const (
	request  = "GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n"
	unfinish = "POST /v1/node/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		"Content-Length: 99\r\n"
)

// TestAStrangerShutsNoClientOut: whatever the connections send, clients with a token are answered soon, over kept and
// new connections, from other addresses and from the stranger's own.
func TestAStrangerShutsNoClientOut(t *testing.T) {
	for _, c := range []struct {
		what, says string
		addresses  func(int) string
		open, tls  bool
	}{
		{"connections that say nothing", "", oneAddress, false, false},
		{"the same from many addresses", "", manyAddresses, false, false},
		{"connections that are kept", request + "\r\n", oneAddress, false, false},
		{"headers without an end", request, manyAddresses, false, false},
		{"bodies without an end", unfinish + "\r\n{", oneAddress, false, false},
		{"bodies without an end in an open cluster", unfinish + "\r\n{", oneAddress, true, false},
		{"the same from many addresses in an open cluster", unfinish + "\r\n{", manyAddresses, true, false},
		{"bodies of a GET", request + "Content-Length: 9\r\n\r\n", manyAddresses, true, false},
		{"handshakes without an end", "", manyAddresses, false, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			var config *tls.Config
			if c.tls {
				files := testcert.New(t).Sign(t, "localhost")
				certificate, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
				if err != nil {
					t.Fatal(err)
				}
				config = &tls.Config{Certificates: []tls.Certificate{certificate}}
			}
			d := newDoor(t, config, func(to *Config) {
				to.Connections = connections
				if !c.open {
					lettingIn(to)
				}
			})
			before := d.customer("127.0.0.2")
			d.served("a client that was there before", before)
			d.besiege(c.addresses, c.says)
			d.served("a client that was there before", before)
			d.served("a client from another address", d.customer("127.0.0.3"))
			d.served("a client from the stranger's address", d.customer(c.addresses(0)))
		})
	}
}

// TestAnAnswerThatIsNotReadHoldsNoPlace.
func TestAnAnswerThatIsNotReadHoldsNoPlace(t *testing.T) {
	d := newDoor(t, nil, nil)
	data := strings.Repeat("x", 60<<10)
	for i := range 170 {
		if err := d.client.Node("/a").Create(t.Context(), fmt.Sprint("s", i), 1, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := d.from("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err = c.(*net.TCPConn).SetReadBuffer(1 << 16); err != nil { // else systems buffer it
		t.Fatal(err)
	}
	_, err = io.WriteString(c, "GET /v1/semaphores?node=/a&data=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err = io.ReadFull(c, first); err != nil { // the answer is under way, and larger than the systems' buffers
		t.Fatal(err)
	}
	await(t, "its place is free", func() bool { return d.stage.gateway.calls.Load() == 0 })
	await(t, "the answer counts", func() bool { return d.answersTake() >= len(data) })
	c.Close()
	await(t, "nothing counts", func() bool { return d.answersTake() == 0 })
}

// TestATokenThatIsRefusedIsAskedForOnceMore for all requests that came while hosts were asked: the refusal may be too
// old for these requests.
func TestATokenThatIsRefusedIsAskedForOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newCallers(func(context.Context, string) (*client.Client, error) {
			asked++
			time.Sleep(time.Millisecond)
			return nil, &protocol.Error{Status: protocol.StatusUnauthorized}
		})
		var waiting sync.WaitGroup
		for i := range 200 {
			waiting.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				if _, err := c.acquire(t.Context(), "bad", netip.Addr{}); problemCode(err) != http.StatusUnauthorized {
					t.Error(err)
				}
			})
		}
		waiting.Wait()
		if asked != 2 {
			t.Errorf("hosts were asked %d times", asked)
		}
	})
}
