package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// listenTLS starts a listener that echoes lines; connections receives the server's side of each.
func listenTLS(t *testing.T, options TLSOptions) (listener Listener, connections chan Conn) {
	t.Helper()
	connections = make(chan Conn, 100)
	options.Logger = quiet
	listener, err := ListenTLS("127.0.0.1:0", handlerFunc(func(c Conn) Events {
		connections <- c
		return &lineEcho{conn: c}
	}), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener, connections
}

// echoOverTLS checks that a client with this configuration gets its line back.
func echoOverTLS(listener Listener, config *tls.Config) (*tls.Conn, error) {
	conn, err := tls.Dial("tcp", listener.Addr().String(), config)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err = conn.Write([]byte("hello\n")); err == nil {
		_, err = io.ReadFull(conn, make([]byte, 6))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func TestListenTLSNeedsAConfig(t *testing.T) {
	if _, err := ListenTLS("127.0.0.1:0", handlerFunc(nil), TLSOptions{}); !errors.Is(err, ErrNoTLSConfig) {
		t.Errorf("%v", err)
	}
}

func TestTheHandlerSeesTheStateOfTLS(t *testing.T) {
	listener, connections := listenTLS(t, TLSOptions{Config: localhost.serverConfig()})
	conn, err := echoOverTLS(listener, localhost.clientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server := <-connections
	if state := server.TLS(); state == nil || !state.HandshakeComplete {
		t.Errorf("TLS() is %v", state)
	}
	if server.RemoteAddr().String() != conn.LocalAddr().String() {
		t.Errorf("RemoteAddr() is %v, the client is %v", server.RemoteAddr(), conn.LocalAddr())
	}
}

func TestASilentHandshakeEndsAndHoldsUpNoOther(t *testing.T) {
	var stats Stats
	listener, _ := listenTLS(t, TLSOptions{
		Config: localhost.serverConfig(), HandshakeTimeout: 5 * time.Second, HalfOpen: 4, Stats: &stats,
	})
	const silent = 10 // more than may be half-open
	var conns []net.Conn
	for range silent {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	conn, err := echoOverTLS(listener, localhost.clientConfig())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, conn := range conns {
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); !ended(err) {
			t.Fatalf("a silent connection is still there: %v", err)
		}
	}
	f := &fixture{T: t}
	poll(f, "the failures to be counted", func() bool { return stats.FailedHandshakes.Load() == silent })
}

func TestListenerCloseEndsHandshakes(t *testing.T) {
	listener, _ := listenTLS(t, TLSOptions{Config: localhost.serverConfig(), HandshakeTimeout: time.Hour, HalfOpen: 2})
	for range 6 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	done := make(chan error, 1)
	go func() { done <- listener.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Close waits for peers that do not speak")
	}
}

func TestWithAuthoritiesOnlyTheirClientsGetIn(t *testing.T) {
	dir := t.TempDir()
	cert, key, ca := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	localhost.write(t, cert, key, ca)
	source, err := LoadCertificates(cert, key, ca)
	if err != nil {
		t.Fatal(err)
	}
	listener, connections := listenTLS(t, TLSOptions{Config: source.ServerConfig()})

	known := localhost.clientConfig()
	known.Certificates = []tls.Certificate{localhost.leaf}
	conn, err := echoOverTLS(listener, known)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if peers := (<-connections).TLS().PeerCertificates; len(peers) != 1 || peers[0].Subject.CommonName != "localhost" {
		t.Errorf("the server sees %v", peers)
	}

	stranger := localhost.clientConfig()
	stranger.Certificates = []tls.Certificate{newIdentity("stranger").leaf}
	for name, config := range map[string]*tls.Config{"none": localhost.clientConfig(), "a stranger's": stranger} {
		if _, err := echoOverTLS(listener, config); err == nil {
			t.Errorf("with certificate %s a client got in", name)
		}
	}
	if n := len(connections); n != 0 {
		t.Errorf("the handler saw %d strangers", n)
	}
}
