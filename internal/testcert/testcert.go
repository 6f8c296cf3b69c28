// Package testcert makes certificates for tests.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files are a certificate, its key, and the CA certificate.
type Files struct {
	CAFile   string
	CertFile string
	KeyFile  string
}

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

// New makes an authority.
func New(t *testing.T) *Authority {
	t.Helper()
	a := new(Authority)
	der, key := a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true})
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.certificate, a.key = certificate, key
	a.file = filepath.Join(t.TempDir(), "ca.pem")
	write(t, a.file, "CERTIFICATE", der)
	return a
}

// Sign creates a host certificate in separate files.
func (a *Authority) Sign(t *testing.T, name string) Files {
	t.Helper()
	dir := t.TempDir()
	f := Files{CAFile: a.file, CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	a.SignAnew(t, f, &x509.Certificate{DNSNames: []string{name}})
	return f
}

// SignAnew replaces a certificate's files with a new certificate for the template's names.
func (a *Authority) SignAnew(t *testing.T, f Files, template *x509.Certificate) {
	t.Helper()
	der, key := a.sign(t, template)
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.CertFile, "CERTIFICATE", der)
	write(t, f.KeyFile, "EC PRIVATE KEY", text)
}

// sign completes a template and signs it; without a CA, the certificate is self-signed.
func (a *Authority) sign(t *testing.T, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// write replaces a file as a whole.
func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
