package raftlog

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/signalbox/signalbox/shard/raftlog/internal/testcert"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

func withSecret(secret []byte) func(*Config) { return func(c *Config) { c.Secret = secret } }

func TestHostsWithASecretWorkAndRestart(t *testing.T) {
	all, leader := openThree(t, withSecret([]byte("a secret that is long enough")))
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

func TestAShortSecretIsRefused(t *testing.T) {
	one := newCluster(t, 1, withSecret([]byte("short")))[0]
	if err := one.config.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("have %v", err)
	}
}

func TestAHostAloneOpensNoPort(t *testing.T) {
	one := newCluster(t, 1, nil)[0]
	one.config.ListenAddress = freeAddress(t)
	one.open()
	leaderOf(t, []*member{one}).mustPropose(0, 1)
	for _, address := range []string{one.config.address(), one.config.ListenAddress} {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("it listens at %s", address)
		}
	}
}

func TestHostsWorkOverMutualTLS(t *testing.T) {
	files := transport.TLS(testcert.Make(t))
	all, leader := openThree(t, func(c *Config) { c.TLS = &files })
	want := leader.mustPropose(0, 10)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
	text, err := os.ReadFile(files.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	shown, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := leader.host.CertificateExpires(); !got.Equal(shown.NotAfter) {
		t.Errorf("the host says that its certificate ends at %v, and it ends at %v", got, shown.NotAfter)
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
	for _, m := range all {
		m.config.Members[2] = address // they share the map
	}
	openAll(all)
	want := leaderOf(t, all).mustPropose(0, 3)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestTLSFilesThatDoNotFitAreNamed(t *testing.T) {
	good := testcert.Make(t)
	one := newCluster(t, 1, nil)[0]
	for name, files := range map[string]*transport.TLS{
		"no file":            {CAFile: good.CAFile, CertFile: "/nowhere/cert.pem", KeyFile: good.KeyFile},
		"no CA file":         {CAFile: "/nowhere/ca.pem", CertFile: good.CertFile, KeyFile: good.KeyFile},
		"CA file without CA": {CAFile: good.KeyFile, CertFile: good.CertFile, KeyFile: good.KeyFile},
		"key of another":     {CAFile: good.CAFile, CertFile: good.CertFile, KeyFile: testcert.Make(t).KeyFile},
	} {
		t.Run(name, func(t *testing.T) {
			config := one.config
			config.TLS = files
			if host, err := Open(config); err == nil {
				host.Close()
				t.Error("opened")
			}
		})
	}
}
