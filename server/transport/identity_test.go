package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// identity is an authority and a signed certificate for localhost, for servers and clients.
type identity struct {
	authority *x509.Certificate
	leaf      tls.Certificate
	certPEM   []byte
	keyPEM    []byte
	caPEM     []byte
}

var localhost = newIdentity("localhost")

func newIdentity(name string) *identity {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(err)
	authority, err := x509.ParseCertificate(caDER)
	check(err)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	check(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)

	i := &identity{
		authority: authority,
		certPEM:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}),
		keyPEM:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		caPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
	}
	i.leaf, err = tls.X509KeyPair(i.certPEM, i.keyPEM)
	check(err)
	return i
}

func (i *identity) serverConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{i.leaf}}
}

// clientConfig trusts this identity's authority and shows no certificate.
func (i *identity) clientConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(i.authority)
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

// write puts the identity into files.
func (i *identity) write(t *testing.T, certFile, keyFile, caFile string) {
	t.Helper()
	for name, content := range map[string][]byte{certFile: i.certPEM, keyFile: i.keyPEM, caFile: i.caPEM} {
		if name == "" {
			continue
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
