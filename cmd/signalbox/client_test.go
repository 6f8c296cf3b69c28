package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
	rights "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/access"
)

// wire is a client connection that encodes the protocol by hand.
type wire struct {
	t    *testing.T
	conn net.Conn
	next uint64
	in   []byte
}

// ask sends a request and returns the response.
func (w *wire) ask(m protocol.RequestMessage) *protocol.Answer {
	w.t.Helper()
	w.next++
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&buf, w.next, m)
	_ = w.conn.SetDeadline(time.Now().Add(patience))
	if _, err := w.conn.Write(buf.B); err != nil {
		w.t.Fatal(err)
	}
	for {
		if a := w.read(); a.ID == w.next {
			return a
		}
	}
}

// read returns the next message.
func (w *wire) read() *protocol.Answer {
	w.t.Helper()
	for {
		payload, size, err := protocol.ScanFrame(w.in, 8<<20)
		if err != nil {
			w.t.Fatal(err)
		}
		if payload == nil {
			chunk := make([]byte, 64<<10)
			n, err := w.conn.Read(chunk)
			if err != nil {
				w.t.Fatal(err)
			}
			w.in = append(w.in, chunk[:n]...)
			continue
		}
		w.in = w.in[size:]
		a, err := protocol.NewAnswerDecoder().Decode(payload)
		if err != nil {
			w.t.Fatal(err)
		}
		return a
	}
}

// sentAway reads until the host announces the end of the connection, and returns the reason.
func (w *wire) sentAway() protocol.Status {
	w.t.Helper()
	_ = w.conn.SetDeadline(time.Now().Add(patience))
	for {
		if a := w.read(); a.Kind == protocol.KindGoingAway {
			return a.GoingAway.Result.Status
		}
	}
}

// hello connects and says hello with a token; config is nil for plain TCP.
func hello(t *testing.T, address, token string, config *tls.Config) (*wire, protocol.Status) {
	t.Helper()
	var conn net.Conn
	var err error
	if config != nil {
		conn, err = tls.Dial("tcp", address, config)
	} else {
		conn, err = net.Dial("tcp", address)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &wire{t: t, conn: conn}
	a := c.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, Token: []byte(token)})
	return c, a.Result.Status
}

func (w *wire) create(path string) protocol.Status {
	w.t.Helper()
	return w.ask(&protocol.NodeCreate{Path: []byte(path)}).Result.Status
}

func (w *wire) describe(path string) protocol.Status {
	w.t.Helper()
	return w.ask(&protocol.NodeDescribe{Path: []byte(path)}).Result.Status
}

// wires are connections to all hosts in a cluster.
type wires []*wire

// helloToAll says hello to all hosts.
func helloToAll(t *testing.T, hosts []*hostProcess, token string, config *tls.Config) (all wires) {
	t.Helper()
	for _, h := range hosts {
		w, status := hello(t, h.place.Client, token, config)
		if status != protocol.StatusSuccess {
			t.Fatalf("hello: %v", status)
		}
		all = append(all, w)
	}
	return all
}

// of asks one host after another until the path's leader responds.
func (w wires) of(ask func(*wire, string) protocol.Status, path string) (status protocol.Status) {
	for late := time.Now().Add(patience); time.Now().Before(late); {
		for _, one := range w {
			if status = ask(one, path); status != protocol.StatusMoved && status != protocol.StatusUnavailable {
				return status
			}
		}
	}
	return status
}

// certificates writes a certificate authority, and a signed certificate for 127.0.0.1.
func certificates(t *testing.T) (ca, cert, key string, pool *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	template := func(serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"a", "b", "c"},
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority, authorityKey := template(1), newKey()
	authority.IsCA, authority.BasicConstraintsValid = true, true
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	ca = write("ca.pem", "CERTIFICATE", der)
	if authority, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(authority)
	leafKey := newKey()
	if der, err = x509.CreateCertificate(rand.Reader, template(2), authority, leafKey.Public(),
		authorityKey); err != nil {
		t.Fatal(err)
	}
	cert = write("cert.pem", "CERTIFICATE", der)
	if der, err = x509.MarshalPKCS8PrivateKey(leafKey); err != nil {
		t.Fatal(err)
	}
	return ca, cert, write("key.pem", "PRIVATE KEY", der), pool
}

// accessFile writes an access rule file with a token root that has all rights, and the given tokens: name, secret, and
// one ROLE:PATH each.
func accessFile(t *testing.T, tokens ...[3]string) string {
	t.Helper()
	text := "principals:\n"
	for _, token := range append(tokens, [3]string{"root", access.NewToken(), "root:/"}) {
		role, path, _ := strings.Cut(token[2], ":")
		line, err := access.Line(rights.Principal{Name: "token:" + token[0], SHA256: access.HashText(token[1]),
			Grants: []rights.Grant{{Role: role, Path: path}}})
		if err != nil {
			t.Fatal(err)
		}
		text += line + "\n"
	}
	path := filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAClusterWithTLSAndTokens(t *testing.T) {
	t.Parallel()
	ca, cert, key, pool := certificates(t)
	writer, reader := access.NewToken(), access.NewToken()
	spare := access.NewToken()
	tokens := accessFile(t, [3]string{"spare", spare, "root:/"})
	rules := accessFile(t, [3]string{"writer", writer, "admin:/prod"}, [3]string{"reader", reader, "read:/"})
	var hosts []*hostProcess
	for _, p := range newCluster(t, "a", "b", "c") {
		hosts = append(hosts, p.serve(t, "--listen", "off", "--tls-listen", p.Client, "--tls-cert", cert, "--tls-key",
			key, "--token-file", tokens, "--access-file", rules,
			"--raft-tls-cert", cert, "--raft-tls-key", key, "--raft-tls-ca", ca))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	config := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	if _, status := hello(t, hosts[0].place.Client, "wrong", config); status != protocol.StatusUnauthorized {
		t.Errorf("a wrong token: %v", status)
	}
	w, r := helloToAll(t, hosts, writer, config), helloToAll(t, hosts, reader, config)
	s := helloToAll(t, hosts, spare, config)
	for _, c := range []struct {
		what      string
		got, want protocol.Status
	}{
		{"the writer creates where it may", w.of((*wire).create, "/prod/jobs"), protocol.StatusSuccess},
		{"the writer creates elsewhere", w.of((*wire).create, "/production"), protocol.StatusUnauthorized},
		{"the reader creates", r.of((*wire).create, "/prod/more"), protocol.StatusUnauthorized},
		{"the root token of the hosts creates", s.of((*wire).create, "/production"), protocol.StatusSuccess},
		{"the reader describes", r.of((*wire).describe, "/prod/jobs"), protocol.StatusSuccess},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}

	// Removing the root token closes open connections, and rejects new ones.
	if err := os.WriteFile(tokens, []byte("principals: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, h := range hosts {
		if got := s[i].sentAway(); got != protocol.StatusUnauthorized {
			t.Errorf("the connection of the root token to host %s ended with %v", h.place.Client, got)
		}
		if _, status := hello(t, h.place.Client, spare, config); status != protocol.StatusUnauthorized {
			t.Errorf("the root token comes again to host %s: %v", h.place.Client, status)
		}
	}
	if got := w.of((*wire).describe, "/prod/jobs"); got != protocol.StatusSuccess {
		t.Errorf("the writer: %v", got)
	}
	for _, h := range hosts {
		h.stop()
	}
}

func TestPlainAndTLSAtOnce(t *testing.T) {
	_, cert, key, pool := certificates(t)
	p, other := newPlace(t), newPlace(t)
	s := p.serve(t, "--tls-listen", other.Client, "--tls-cert", cert, "--tls-key", key)
	s.awaitReady()
	if _, status := hello(t, p.Client, "", nil); status != protocol.StatusSuccess {
		t.Errorf("plain: %v", status)
	}
	if _, status := hello(t, other.Client, "", &tls.Config{RootCAs: pool}); status != protocol.StatusSuccess {
		t.Errorf("TLS: %v", status)
	}
	if got := s.status().Host.ClientAddress; got != other.Client {
		t.Errorf("clients are told %s, want %s", got, other.Client)
	}
	s.stop()
}

func TestANearlyFullDiskRefusesChangesAndServesReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	s.awaitReady()
	c, _ := hello(t, p.Client, "", nil)
	if got := c.create("/jobs"); got != protocol.StatusSuccess {
		t.Fatalf("create: %v", got)
	}
	s.stop()

	// No disk has so much free space.
	s = p.serve(t, "--min-free-disk", "1000000TiB")
	s.awaitReady()
	c, _ = hello(t, p.Client, "", nil)
	if got := c.create("/more"); got != protocol.StatusStorageFull {
		t.Errorf("create: %v", got)
	}
	if got := c.describe("/jobs"); got != protocol.StatusSuccess {
		t.Errorf("describe: %v", got)
	}
	if code, text := s.get("/health/ready?verbose"); code != 200 ||
		!strings.Contains(text, "[warning] disk: the disk of the host is nearly full") {
		t.Errorf("%d %s", code, text)
	}
	if status := s.status(); status.Disk == nil || !status.Disk.Refusing {
		t.Errorf("status %+v", status.Disk)
	}
	s.stop()
}

func TestBrokenFilesAreReportedWithTheAddresses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, other := newPlace(t), newPlace(t)
	l, err := net.Listen("tcp", p.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.refused(t, cli.ExitUsage, []string{
		"the host cannot start:", "cannot use the root token file " + bad, "--tls-cert: cannot load certificates",
		"--raft-tls-cert: cannot load certificates", "--listen: cannot listen on " + p.Client,
	}, "--token-file", bad, "--tls-listen", other.Client, "--tls-cert", bad, "--tls-key", bad,
		"--raft-tls-cert", bad, "--raft-tls-key", bad, "--raft-tls-ca", bad)
}
