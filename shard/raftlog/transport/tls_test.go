package transport

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/signalbox/signalbox/shard/raftlog/internal/testcert"
)

// loaded returns certificates of a CA of their own.
func loaded(t *testing.T) *TLSConfigs {
	t.Helper()
	files := TLS(testcert.Make(t))
	configs, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func withTLS(configs *TLSConfigs) func(*Config) { return func(c *Config) { c.TLS = configs } }

func TestStrangersAreTurnedAwayByTLS(t *testing.T) {
	configs, others := loaded(t), loaded(t)
	e := newEndpoint(t, withTLS(configs))
	silent, err := net.Dial("tcp", e.address) // it must not keep other hosts out
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, dial := range map[string]func() (net.Conn, error){
		"no TLS": func() (net.Conn, error) { return net.Dial("tcp", e.address) },
		"no certificate": func() (net.Conn, error) {
			return tls.Dial("tcp", e.address, &tls.Config{RootCAs: configs.client.RootCAs})
		},
		"another CA's certificate": func() (net.Conn, error) {
			return tls.Dial("tcp", e.address, &tls.Config{RootCAs: configs.client.RootCAs,
				Certificates: others.client.Certificates})
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := dial()
			if err != nil {
				return // turned away at once
			}
			defer conn.Close()
			s := &sender{conn: conn}
			s.SendMessageBatch(goodBatch("x"))
			awaitEnd(t, conn)
		})
	}
	good, err := e.GetConnection(context.Background(), e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	if err := good.SendMessageBatch(goodBatch("known")); err != nil {
		t.Fatal(err)
	}
	if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != "known" || len(e.batches) != 0 {
		t.Errorf("the engine was given %v", got)
	}
	if conn, err := newEndpoint(t, withTLS(others)).GetConnection(context.Background(), e.address); err == nil {
		conn.Close()
		t.Error("a host took one whose certificate its CA did not sign for another host")
	}
}
