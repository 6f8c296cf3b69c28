package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
)

// TLS names the files for mutual authentication between hosts: both ends of every connection present a certificate
// signed by CAFile. The certificate must contain the host's name, as an alternative name or as the common name.
type TLS struct {
	CAFile   string
	CertFile string
	KeyFile  string
}

// Certificates are used at both ends of connections between hosts, and are reloaded when the files change.
type Certificates struct{ *certfile.Source }

// ErrTLSFiles is returned by Load if a file name is missing.
var ErrTLSFiles = errors.New("TLS needs all of CA file, certificate file and key file")

// Load reads the files.
func (t *TLS) Load() (*Certificates, error) {
	if t.CAFile == "" || t.CertFile == "" || t.KeyFile == "" {
		return nil, ErrTLSFiles
	}
	files := certfile.Files{Certificate: t.CertFile, Key: t.KeyFile, Authorities: t.CAFile}
	source, err := certfile.Load(files, bothEnds)
	if err != nil {
		return nil, fmt.Errorf("load what hosts show each other: %w", err)
	}
	return &Certificates{source}, nil
}

// bothEnds is the configuration for either end. An authority must have signed the peer's certificate. The host
// handshake compares the name in the certificate later, when the host's name is known.
func bothEnds(certificate tls.Certificate, authorities *x509.CertPool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities,
		InsecureSkipVerify: true, // the dialer verifies here:
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.VerifiedChains) > 0 {
				return nil // at a client
			}
			others := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				others.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authorities, Intermediates: others})
			return err
		},
		// A resumed session would rely on the authorities from the time when it began.
		SessionTicketsDisabled: true,
	}
}
