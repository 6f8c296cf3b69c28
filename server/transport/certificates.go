package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
)

// CertificateSource provides a server's certificate from files, and reloads changed files.
type CertificateSource = certfile.Source

// LoadCertificates reads a certificate and its key, both PEM. With caFile, which may be empty, clients must present a
// certificate signed by an authority in caFile. Files that are invalid now are an error; if files become invalid
// later, this is only logged, with the default logger, and the previous certificate stays in use.
func LoadCertificates(certFile, keyFile, caFile string) (*CertificateSource, error) {
	files := certfile.Files{Certificate: certFile, Key: keyFile, Authorities: caFile}
	source, err := certfile.Load(files, certificateConfig)
	if err != nil {
		return nil, fmt.Errorf("cannot load certificates: %w", err)
	}
	return source, nil
}

// certificateConfig returns the configuration for a client listener.
func certificateConfig(certificate tls.Certificate, authorities *x509.CertPool) *tls.Config {
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		// Small first records help web pages to render while they load; here, every small record would be a separate
		// write.
		DynamicRecordSizingDisabled: true,
	}
	if authorities != nil {
		config.ClientCAs, config.ClientAuth = authorities, tls.RequireAndVerifyClientCert
		// A resumed session would use the authorities from the time when it began.
		config.SessionTicketsDisabled = true
	}
	return config
}
