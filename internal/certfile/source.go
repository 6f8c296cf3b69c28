// Package certfile reloads the files of a TLS certificate when they change.
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

// CheckInterval is how often the files of a Source are looked at, at most.
const CheckInterval = time.Second

// ErrNoCertificate: a file that should have certificates of authorities has none.
var ErrNoCertificate = errors.New("no certificate in the file")

// Files are a certificate with its key, and the authorities that sign those of others; all PEM. Authorities may be
// empty, and so may the other two for one who has no certificate to show.
type Files struct{ Certificate, Key, Authorities string }

// Source gives TLS its configuration from files, and takes new ones when the files change, without a restart:
// connections that exist go on, new ones see the new certificate. While the files are not there or do not fit together,
// the last good ones stay in use. Any goroutine may use it.
type Source struct {
	files  Files
	derive func(tls.Certificate, *x509.CertPool) *tls.Config
	logger *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	seen    []os.FileInfo // of the files when they were looked at last; nil for one that was not there
	checked time.Time
}

// Load reads the files. The configuration is derived from what is in them, each time that they have changed; the pool
// is nil where no authorities are named, and the certificate is empty where none is. That the files are broken now is
// an error; that they break later is only logged, with the default logger.
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

// ServerConfig returns a configuration for a listener that follows the files.
func (s *Source) ServerConfig() *tls.Config {
	config := s.Config().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return s.Config(), nil
	}
	return config
}

// Expires returns when the certificate ends that others are shown now; one must be named.
func (s *Source) Expires() time.Time {
	return s.Config().Certificates[0].Leaf.NotAfter
}

// Config returns the configuration of the newest files that are good.
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
	// Also where it is broken: it is read again, and reported again, when it has changed again.
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

// look returns what the files are like, without reading them.
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

// Names reports whether a certificate has a name, as an alternative name or as the common one; none has the empty one.
func Names(c *x509.Certificate, name string) bool {
	return c != nil && name != "" && (c.VerifyHostname(name) == nil || c.Subject.CommonName == name)
}
