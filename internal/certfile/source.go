// Package certfile reloads TLS certificate files when they change.
package certfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// CheckInterval is the minimum interval between checks for changed files.
const CheckInterval = time.Second

// ErrNoCertificate means that a CA file contains no certificate.
var ErrNoCertificate = errors.New("no certificate in the file")

// Files are a certificate, its key, and the CAs that sign peers' certificates, all in PEM. Authorities may be empty;
// Certificate and Key may be empty if no certificate is presented.
type Files struct{ Certificate, Key, Authorities string }

// Source provides a TLS configuration from files and reloads changed files without a restart: existing connections
// continue, and new connections use the new certificate. While the files are missing or inconsistent, the last good
// configuration stays in use. Safe for concurrent use.
type Source struct {
	files  Files
	derive func(tls.Certificate, *x509.CertPool) *tls.Config
	logger *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	seen    []os.FileInfo // for each file at the last check; nil if the file was missing
	checked time.Time
}

// Load reads the files. The configuration is derived from the file contents after each change. The pool is nil without
// CAs, and the certificate is empty if none is configured. Load fails if the files are invalid now; later failures are
// only logged, with the default logger.
func Load(files Files, derive func(tls.Certificate, *x509.CertPool) *tls.Config) (*Source, error) {
	s := &Source{files: files, derive: derive, logger: slog.Default()}
	s.seen, s.checked = s.look(), time.Now()
	config, err := s.load()
	if err != nil {
		return nil, err
	}
	s.config = config
	return s, nil
}

// ServerConfig returns a listener configuration that follows the files.
func (s *Source) ServerConfig() *tls.Config {
	config := s.Config().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return s.Config(), nil
	}
	return config
}

// Expires returns when the current certificate expires. A certificate must be configured.
func (s *Source) Expires() time.Time {
	return s.Config().Certificates[0].Leaf.NotAfter
}

// Config returns the configuration from the newest valid files.
func (s *Source) Config() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) >= CheckInterval {
		s.checked = now
		s.reload()
	}
	return s.config
}

// reload is called with mu held.
func (s *Source) reload() {
	found := s.look()
	if slices.EqualFunc(found, s.seen, sameFile) {
		return
	}
	// Even if invalid: the files are read and reported again once they change.
	s.seen = found
	config, err := s.load()
	if err != nil {
		s.logger.Error("cannot use the changed certificate files; the old certificate stays in use", "error", err)
		return
	}
	s.config = config
	s.logger.Info("new certificate in use", "file", s.files.Certificate)
}

func (s *Source) load() (*tls.Config, error) {
	var certificate tls.Certificate
	if s.files.Certificate != "" || s.files.Key != "" {
		var err error
		if certificate, err = tls.LoadX509KeyPair(s.files.Certificate, s.files.Key); err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", s.files.Certificate, s.files.Key, err)
		}
	}
	if s.files.Authorities == "" {
		return s.derive(certificate, nil), nil
	}
	pem, err := os.ReadFile(s.files.Authorities)
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %s: %w", s.files.Authorities, ErrNoCertificate)
	}
	return s.derive(certificate, authorities), nil
}

// look returns the files' metadata without reading their content.
func (s *Source) look() []os.FileInfo {
	var found []os.FileInfo
	for _, name := range []string{s.files.Certificate, s.files.Key, s.files.Authorities} {
		info, _ := os.Stat(name)
		found = append(found, info)
	}
	return found
}

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Names reports whether a certificate has a name, as alternative name or common name. The empty name never matches.
func Names(c *x509.Certificate, name string) bool {
	return c != nil && name != "" && (c.VerifyHostname(name) == nil || c.Subject.CommonName == name)
}
