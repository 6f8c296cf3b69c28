package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// TLS names the files with which hosts authenticate each other: both ends of every connection show a certificate that
// CAFile signed. The certificate must name the host part of the address that this host has in Members.
type TLS struct {
	CAFile   string
	CertFile string
	KeyFile  string
}

// ErrNoAuthority is returned by Load where the CA file has no certificate.
var ErrNoAuthority = errors.New("CA file holds no certificate")

// TLSConfigs are what both ends of a connection between hosts use.
type TLSConfigs struct {
	server *tls.Config
	client *tls.Config // lacks the server's name
}

// Expires returns when the certificate ends that this host shows.
func (t *TLSConfigs) Expires() time.Time { return t.server.Certificates[0].Leaf.NotAfter }

// Load reads the files.
func (t *TLS) Load() (*TLSConfigs, error) {
	certificate, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA file: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s", ErrNoAuthority, t.CAFile)
	}
	certificates := []tls.Certificate{certificate}
	return &TLSConfigs{
		server: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: certificates,
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities,
		},
		client: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: certificates, RootCAs: authorities},
	}, nil
}

// clientFor returns a config that expects the host name of the target in the certificate.
func (t *TLSConfigs) clientFor(target string) *tls.Config {
	config := t.client.Clone()
	if host, _, err := net.SplitHostPort(target); err == nil {
		config.ServerName = host
	}
	return config
}
