package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/certfile"
	"github.com/signalbox/signalbox/internal/testcert"
)

// certified gives a transport the certificate in files.
func certified(t *testing.T, files testcert.Files) func(*Config) {
	t.Helper()
	named := TLS(files)
	certificates, err := named.Load()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.TLS = certificates }
}

func TestStrangersAreTurnedAwayByTLS(t *testing.T) {
	authority, stranger := testcert.New(t), testcert.New(t)
	e := newEndpoint(t, certified(t, authority.Sign(t, "one")))
	silent, err := net.Dial("tcp", e.address) // it must not block other hosts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, connect := range map[string]func(*Config){
		"no TLS":                          func(c *Config) { c.TLS = nil },
		"a certificate of another's name": certified(t, authority.Sign(t, "three")),
		"another authority's certificate": certified(t, stranger.Sign(t, "two")),
		"a certificate without a name":    certified(t, authority.Sign(t, "")),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newDialer(t, e, connect).dialTarget(context.Background(), one); err == nil {
				t.Error("connected")
			}
		})
	}
	t.Run("no certificate", func(t *testing.T) {
		conn, err := tls.Dial("tcp", e.address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return // turned away at once
		}
		defer conn.Close()
		awaitEnd(t, conn)
	})
	e.peer = newDialer(t, e, certified(t, authority.Sign(t, "two")))
	if err := e.connect(t).SendMessageBatch(goodBatch("known")); err != nil {
		t.Fatal(err)
	}
	if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != "known" || len(e.batches) != 0 {
		t.Errorf("the engine was given %v", got)
	}
}

func TestAHostIsRefusedWhoseCertificateHasAnothersName(t *testing.T) {
	authority := testcert.New(t)
	for name, test := range map[string]struct {
		template x509.Certificate
		good     bool
	}{
		"its name":                   {x509.Certificate{DNSNames: []string{"x.example", "one"}}, true},
		"its name as the common one": {x509.Certificate{Subject: pkix.Name{CommonName: "one"}}, true},
		"another's name":             {x509.Certificate{DNSNames: []string{"three"}}, false},
		"an address":                 {x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := authority.Sign(t, "one")
			authority.SignAnew(t, files, &test.template)
			e := newEndpoint(t, certified(t, files))
			_, err := newDialer(t, e, certified(t, authority.Sign(t, "two"))).dialTarget(context.Background(), one)
			if (err == nil) != test.good || !test.good && !strings.Contains(err.Error(), "certificate") {
				t.Errorf("have %v", err)
			}
		})
	}
}

// TestChangedCertificatesAreTakenWithoutARestart: existing connections continue.
func TestChangedCertificatesAreTakenWithoutARestart(t *testing.T) {
	authority := testcert.New(t)
	files := authority.Sign(t, "one")
	e := newEndpoint(t, certified(t, files))
	e.peer = newDialer(t, e, certified(t, authority.Sign(t, "two")))
	before := e.connect(t)
	was := e.CertificateExpires()
	authority.SignAnew(t, files, &x509.Certificate{DNSNames: []string{"three"}})
	eventually(t, "the changed certificate", func() bool {
		d, err := e.peer.dialTarget(context.Background(), one)
		if err == nil {
			d.close()
		}
		r, ok := errors.AsType[*Refused](err)
		return ok && r.Code == CodeOtherCertificate
	})
	authority.SignAnew(t, files, &x509.Certificate{DNSNames: []string{"one"}})
	eventually(t, "the next one", func() bool {
		d, err := e.peer.dialTarget(context.Background(), one)
		if err == nil {
			d.close()
		}
		return err == nil
	})
	if now := e.CertificateExpires(); now.Before(was) || now.After(was.Add(time.Hour)) {
		t.Errorf("it ends at %v, before at %v", now, was)
	}
	if err := before.SendMessageBatch(goodBatch("still there")); err != nil {
		t.Fatal(err)
	}
	<-e.batches
}

func TestTLSFilesThatDoNotFitAreNamed(t *testing.T) {
	authority := testcert.New(t)
	good := authority.Sign(t, "one")
	for name, test := range map[string]struct {
		files TLS
		want  error
	}{
		"no file":            {TLS{good.CAFile, "/nowhere/cert.pem", good.KeyFile}, os.ErrNotExist},
		"no CA file":         {TLS{"/nowhere/ca.pem", good.CertFile, good.KeyFile}, os.ErrNotExist},
		"CA file without CA": {TLS{good.KeyFile, good.CertFile, good.KeyFile}, certfile.ErrNoCertificate},
		"one is not named":   {TLS{good.CAFile, good.CertFile, ""}, ErrTLSFiles},
		"key of another":     {TLS{good.CAFile, good.CertFile, authority.Sign(t, "two").KeyFile}, nil},
	} {
		if _, err := test.files.Load(); err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAHostThatIsNotInTheAddressBookHearsWhyOverTLS: an expelled host, whose name the transport does not know, gets
// Admit's refusal.
func TestAHostThatIsNotInTheAddressBookHearsWhyOverTLS(t *testing.T) {
	authority := testcert.New(t)
	alone := func(c *Config) { c.Hosts = nil }
	for name, test := range map[string]struct {
		admit func(*Config)
		code  Code
	}{
		"Admit decides": {func(c *Config) {
			c.Admit = func(Peer) error { return &Refused{Code: CodeExpelled, Text: "it was expelled"} }
		}, CodeExpelled},
		"the transport's": {func(*Config) {}, CodeUnknownHost},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, certified(t, authority.Sign(t, "one")), alone, test.admit)
			_, err := newDialer(t, e, certified(t, authority.Sign(t, "two"))).dialTarget(context.Background(), one)
			if r, ok := errors.AsType[*Refused](err); !ok || r.Code != test.code {
				t.Errorf("have %v, want %v", err, test.code)
			}
		})
	}
}
