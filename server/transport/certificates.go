package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateCheckInterval is how often the files of a CertificateSource are looked at, at most.
const certificateCheckInterval = time.Second

// ErrNoCertificate: a file that should have certificates of authorities has none.
var ErrNoCertificate = errors.New("no certificate in the file")

// CertificateSource gives a server its certificate from files, and takes new ones when the files change,
// without a restart: connections that exist go on, new ones see the new certificate. While the files
// are not there or do not fit together, the last good ones stay in use. Any goroutine may use it.
type CertificateSource struct {
	certFile, keyFile, caFile string
	logger                    *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	seen    []os.FileInfo // of the files when they were looked at last; nil for one that was not there
	checked time.Time
}

// LoadCertificates reads a certificate with its key, both PEM. With caFile, which may be empty, clients
// must show a certificate that an authority in that file has signed. That the files are broken now is an
// error; that they break later is only logged, with the default logger.
func LoadCertificates(certFile, keyFile, caFile string) (*CertificateSource, error) {
	s := &CertificateSource{certFile: certFile, keyFile: keyFile, caFile: caFile, logger: slog.Default()}
	s.seen, s.checked = s.look(), time.Now()
	config, err := s.load()
	if err != nil {
		return nil, fmt.Errorf("transport: load certificates: %w", err)
	}
	s.config = config
	return s, nil
}

// ServerConfig returns a configuration for ListenTLS that follows the files.
func (s *CertificateSource) ServerConfig() *tls.Config {
	config := s.current().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return s.current(), nil
	}
	return config
}

// Expires returns when the certificate ends that clients are shown now.
func (s *CertificateSource) Expires() time.Time {
	return s.current().Certificates[0].Leaf.NotAfter
}

// current returns the configuration of the newest files that are good.
func (s *CertificateSource) current() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) >= certificateCheckInterval {
		s.checked = now
		s.reload()
	}
	return s.config
}

// reload is called with mu held.
func (s *CertificateSource) reload() {
	found := s.look()
	if sameFiles(found, s.seen) {
		return
	}
	// Also where it is broken: it is read again, and reported again, when it has changed again.
	s.seen = found
	config, err := s.load()
	if err != nil {
		s.logger.Error("the changed certificate files are not usable, the old certificate stays", "error", err)
		return
	}
	s.config = config
	s.logger.Info("new certificate in use", "file", s.certFile)
}

func (s *CertificateSource) load() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", s.certFile, s.keyFile, err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		// Small records first serve pages that are shown while they load; here each would be a write.
		DynamicRecordSizingDisabled: true,
	}
	if s.caFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(s.caFile)
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("authorities %s: %w", s.caFile, ErrNoCertificate)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	// A resumed session would stand on the authorities of the time when it began.
	config.SessionTicketsDisabled = true
	return config, nil
}

// look returns what the files are like, without reading them.
func (s *CertificateSource) look() []os.FileInfo {
	var found []os.FileInfo
	for _, name := range []string{s.certFile, s.keyFile, s.caFile} {
		info, err := os.Stat(name)
		if err != nil {
			info = nil
		}
		found = append(found, info)
	}
	return found
}

func sameFiles(a, b []os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil && !(os.SameFile(a[i], b[i]) && a[i].Size() == b[i].Size() &&
			a[i].ModTime().Equal(b[i].ModTime())) {
			return false
		}
	}
	return true
}
