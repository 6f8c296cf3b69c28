package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// limit is the maximum wait for an expected event, on any machine.
const limit = time.Minute

// replace copies one file's contents into another.
func replace(t *testing.T, file, by string) {
	t.Helper()
	text, err := os.ReadFile(by)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSDKsSeeTheCertificateOfTheMoment and must present a certificate from the configured authority.
func TestSDKsSeeTheCertificateOfTheMoment(t *testing.T) {
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, pool := selfSigned(t)
	next, nextKey, nextPool := selfSigned(t)
	theirs, theirKey, _ := selfSigned(t)
	pair, err := tls.LoadX509KeyPair(theirs, theirKey)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"--listen", ports.Addresses[0], "--metrics-listen", "off", "--endpoints", "127.0.0.1:1",
		"--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", theirs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, o, slog.New(slog.DiscardHandler)) }()
	call := func(pool *x509.CertPool, own ...tls.Certificate) error {
		c, err := tls.Dial("tcp", o.listen, &tls.Config{RootCAs: pool, Certificates: own, NextProtos: []string{"h2"}})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1)) // a server reports a refusal in its first message
		return err
	}
	await := func(pool *x509.CertPool) {
		t.Helper()
		for until := time.Now().Add(limit); call(pool, pair) != nil; {
			if time.Now().After(until) {
				t.Fatal(call(pool, pair))
			}
		}
	}
	await(pool)
	if call(pool) == nil {
		t.Error("one without a certificate is let in")
	}
	replace(t, certificate, next)
	replace(t, key, nextKey)
	await(nextPool)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestHostsSeeTheCertificateOfTheMoment and are checked against the present authority.
func TestHostsSeeTheCertificateOfTheMoment(t *testing.T) {
	certificate, key, _ := selfSigned(t)
	next, nextKey, _ := selfSigned(t)
	host, hostKey, _ := selfSigned(t)
	strange, _, _ := selfSigned(t)
	pair, err := tls.LoadX509KeyPair(host, hostKey)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 100)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12,
		VerifyPeerCertificate: func(certs [][]byte, _ [][]*x509.Certificate) error {
			shown <- string(certs[0])
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	ca := strange
	o, err := parse([]string{"--endpoints", l.Addr().(*net.TCPAddr).String(), "--cluster-tls", "on", "--cluster-ca", ca,
		"--cluster-cert", certificate, "--cluster-key", key})
	if err != nil {
		t.Fatal(err)
	}
	config, err := configOf(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	await := func(want string) {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(want, map[string]string{certificate: key, next: nextKey}[want])
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(limit); time.Now().Before(until); {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _ = config.Open(ctx, "") // the server is not a host
			cancel()
			for len(shown) > 0 {
				if <-shown == string(pair.Certificate[0]) {
					return
				}
			}
		}
		t.Fatal("the certificate is not shown")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	_, _ = config.Open(ctx, "")
	cancel()
	if len(shown) > 0 {
		t.Error("a host is trusted whose authority is not named")
	}
	replace(t, ca, host)
	await(certificate)
	replace(t, certificate, next)
	replace(t, key, nextKey)
	await(next)
}
