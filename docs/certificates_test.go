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

// TestTheCommandsThatMakeCertificatesWork runs the commands in docs/guides/tls.md, and connects the hosts and the
// client over TLS.
func TestTheCommandsThatMakeCertificatesWork(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	var commands string
	for _, f := range readPage(t, "docs/guides/tls.md").fences {
		if strings.Contains(f.text, "openssl req") {
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

	authority := func(name string) *x509.CertPool {
		text, err := os.ReadFile(filepath.Join(dir, name+"-ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			t.Fatalf("%s-ca.pem has no certificate", name)
		}
		return pool
	}
	hosts, clients := authority("hosts"), authority("clients")
	// A connecting side trusts the hosts' authority. A listener for hosts trusts the same authority; a listener for
	// clients trusts the clients' authority.
	end := func(name string, lets *x509.CertPool) *tls.Config {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
			RootCAs: hosts, ClientCAs: lets, ClientAuth: tls.RequireAndVerifyClientCert,
		}
	}
	for _, meeting := range []struct {
		client, server string
		lets           *x509.CertPool
		name           string
		well           bool
	}{
		{"a", "b", hosts, "127.0.0.1", true},
		{"b", "c", hosts, "c.example.com", true},
		{"client", "a", clients, "a.example.com", true},
		{"client", "a", hosts, "a.example.com", false}, // a client is no host
		{"a", "client", hosts, "127.0.0.1", false},
		{"a", "b", hosts, "c.example.com", false},
	} {
		err := meet(end(meeting.client, nil), end(meeting.server, meeting.lets), meeting.name)
		if (err == nil) != meeting.well {
			t.Errorf("%s meets %s at %s: %v", meeting.client, meeting.server, meeting.name, err)
		}
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
