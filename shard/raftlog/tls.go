package raftlog

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"
)

// tlsConfigs are what both ends of a connection between hosts use.
type tlsConfigs struct {
	server *tls.Config
	client *tls.Config // lacks the server's name
}

// expires returns when the certificate ends that this host shows.
func (t *tlsConfigs) expires() time.Time { return t.server.Certificates[0].Leaf.NotAfter }

// load reads the files.
func (t *TLS) load() (*tlsConfigs, error) {
	certificate, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("raftlog: load certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("raftlog: read the CA file: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: CA file %s holds no certificate", ErrConfig, t.CAFile)
	}
	certificates := []tls.Certificate{certificate}
	return &tlsConfigs{
		server: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: certificates,
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities,
		},
		client: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: certificates, RootCAs: authorities},
	}, nil
}

// clientFor returns a config that expects the host name of the target in the certificate.
func (t *tlsConfigs) clientFor(target string) *tls.Config {
	config := t.client.Clone()
	if host, _, err := net.SplitHostPort(target); err == nil {
		config.ServerName = host
	}
	return config
}
