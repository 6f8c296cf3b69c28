package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
)

// CertificateSource gives a server its certificate from files, and takes new ones when the files change.
type CertificateSource = certfile.Source

// LoadCertificates reads a certificate with its key, both PEM. With caFile, which may be empty, clients must show a
// certificate signed by an authority in caFile. Files broken now are an error; files broken later are only logged,
// with the default logger, and the earlier certificate stays in use.
func LoadCertificates(certFile, keyFile, caFile string) (*CertificateSource, error) {
	files := certfile.Files{Certificate: certFile, Key: keyFile, Authorities: caFile}
	source, err := certfile.Load(files, certificateConfig)
	if err != nil {
		return nil, fmt.Errorf("load certificates: %w", err)
	}
	return source, nil
}

// certificateConfig is the configuration of a listener for clients.
func certificateConfig(certificate tls.Certificate, authorities *x509.CertPool) *tls.Config {
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		// Small first records help pages shown while they load; here each small record would be a write.
		DynamicRecordSizingDisabled: true,
	}
	if authorities != nil {
		config.ClientCAs, config.ClientAuth = authorities, tls.RequireAndVerifyClientCert
		// A resumed session would stand on the authorities of the time of its beginning.
		config.SessionTicketsDisabled = true
	}
	return config
}
