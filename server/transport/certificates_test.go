package transport

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/internal/certfile"
)

// certificateFiles are a certificate source's files and log.
type certificateFiles struct {
	*testing.T
	cert, key, ca string
	log           bytes.Buffer
}

func newCertificateFiles(t *testing.T) *certificateFiles {
	dir := t.TempDir()
	f := &certificateFiles{T: t, cert: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key"),
		ca: filepath.Join(dir, "ca")}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&f.log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return f
}

// shown is the certificate currently shown to clients.
func (f *certificateFiles) shown(s *CertificateSource) string {
	f.Helper()
	config, err := s.ServerConfig().GetConfigForClient(nil)
	if err != nil {
		f.Fatal(err)
	}
	return config.Certificates[0].Leaf.Subject.CommonName
}

func TestChangedCertificatesAreTakenWithinASecond(t *testing.T) {
	f := newCertificateFiles(t)
	synctest.Test(t, func(t *testing.T) {
		newIdentity("one").write(t, f.cert, f.key, f.ca)
		source, err := LoadCertificates(f.cert, f.key, f.ca)
		if err != nil {
			t.Fatal(err)
		}
		newIdentity("another").write(t, f.cert, f.key, f.ca)
		if name := f.shown(source); name != "one" {
			t.Errorf("%q is shown before the files are looked at again", name)
		}
		time.Sleep(certfile.CheckInterval)
		if name := f.shown(source); name != "another" {
			t.Errorf("%q is shown after the change", name)
		}
	})
}

func TestTheEndOfACertificateIsThatOfTheOneInUse(t *testing.T) {
	f := newCertificateFiles(t)
	synctest.Test(t, func(t *testing.T) {
		first := newIdentity("first")
		first.write(t, f.cert, f.key, f.ca)
		source, err := LoadCertificates(f.cert, f.key, f.ca)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := source.Expires(), first.leaf.Leaf.NotAfter; !got.Equal(want) {
			t.Errorf("it ends at %v, want %v", got, want)
		}
		time.Sleep(time.Hour)
		second := newIdentity("second")
		second.write(t, f.cert, f.key, f.ca)
		if got, want := source.Expires(), second.leaf.Leaf.NotAfter; !got.Equal(want) ||
			want.Equal(first.leaf.Leaf.NotAfter) {
			t.Errorf("after the change it ends at %v, want %v", got, want)
		}
		if err := os.WriteFile(f.cert, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(certfile.CheckInterval)
		if got, want := source.Expires(), second.leaf.Leaf.NotAfter; !got.Equal(want) {
			t.Errorf("with a broken file it ends at %v, want %v: the old one stays in use", got, want)
		}
	})
}

func TestBrokenCertificatesLeaveTheOldOnesInUse(t *testing.T) {
	f := newCertificateFiles(t)
	synctest.Test(t, func(t *testing.T) {
		newIdentity("old").write(t, f.cert, f.key, f.ca)
		source, err := LoadCertificates(f.cert, f.key, f.ca)
		if err != nil {
			t.Fatal(err)
		}
		fresh := newIdentity("fresh")
		for what, breakIt := range map[string]func() error{
			"half a pair":    func() error { return os.WriteFile(f.cert, fresh.certPEM, 0o600) },
			"no key":         func() error { return os.Remove(f.key) },
			"no authorities": func() error { return os.WriteFile(f.ca, []byte("nothing"), 0o600) },
		} {
			f.log.Reset()
			if err := breakIt(); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				time.Sleep(certfile.CheckInterval)
				if name := f.shown(source); name != "old" {
					t.Errorf("%s: %q is shown", what, name)
				}
			}
			if n := strings.Count(f.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%s: logged %d times:\n%s", what, n, f.log.String())
			}
		}
		fresh.write(t, f.cert, f.key, f.ca)
		time.Sleep(certfile.CheckInterval)
		if name := f.shown(source); name != "fresh" {
			t.Errorf("%q is shown when all is well again", name)
		}
	})
}

func TestBrokenCertificatesAtTheStartAreAnError(t *testing.T) {
	f := newCertificateFiles(t)
	if _, err := LoadCertificates(f.cert, f.key, ""); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), f.cert) {
		t.Errorf("missing files: %v", err)
	}
	localhost.write(t, f.cert, f.key, f.ca)
	if _, err := LoadCertificates(f.cert, f.key, f.key); !errors.Is(err, certfile.ErrNoCertificate) {
		t.Errorf("a key Base64, instead of authorities: %v", err)
	}
	if _, err := LoadCertificates(f.cert, f.key, ""); err != nil {
		t.Errorf("without authorities: %v", err)
	}
}
