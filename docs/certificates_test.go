package docs_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCommandsThatMakeCertificatesWork runs what docs/operating.md says, and has the hosts and the
// client meet over TLS.
func TestTheCommandsThatMakeCertificatesWork(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	var commands string
	for _, f := range readPage(t, "docs/operating.md").fences {
		if strings.HasPrefix(f.text, "openssl req") {
			commands = f.text
		}
	}
	if commands == "" {
		t.Fatal("the page has no such commands")
	}
	dir := t.TempDir()
	shell := exec.Command("sh", "-e", "-c", commands)
	shell.Dir = dir
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		t.Fatal("ca.pem has no certificate")
	}
	end := func(name string) *tls.Config {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
			RootCAs: authorities, ClientCAs: authorities, ClientAuth: tls.RequireAndVerifyClientCert,
		}
	}
	for _, meeting := range []struct{ client, server, name string }{
		{"a", "b", "127.0.0.1"}, {"b", "c", "c.example.com"}, {"client", "a", "a.example.com"},
	} {
		if err := meet(end(meeting.client), end(meeting.server), meeting.name); err != nil {
			t.Errorf("%s does not meet %s at %s: %v", meeting.client, meeting.server, meeting.name, err)
		}
	}
	if err := meet(end("a"), end("client"), "127.0.0.1"); err == nil {
		t.Error("the certificate of a client does for a host")
	}
}

// meet makes two ends shake hands.
func meet(client, server *tls.Config, name string) error {
	near, far := net.Pipe()
	client.ServerName = name
	served := make(chan error, 1)
	go func() {
		conn := tls.Server(far, server)
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte("."))
		}
		_ = far.Close()
		served <- err
	}()
	conn := tls.Client(near, client)
	_, err := conn.Read(make([]byte, 1))
	_ = near.Close()
	return errors.Join(err, <-served)
}
