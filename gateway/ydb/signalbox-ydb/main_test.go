package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/subprocess"
)

// TestWhatDiscoveryNames is read from --advertise.
func TestWhatDiscoveryNames(t *testing.T) {
	for list, want := range map[string][]ydb.Endpoint{
		"":                {},
		"a.example:2136":  {{Address: "a.example", Port: 2136}},
		"[::1]:1/a, b:2,": {{Address: "::1", Port: 1, Location: "a"}, {Address: "b", Port: 2}},
	} {
		if got, err := endpointsOf("advertise", list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q names %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"a", "a:x", "a:70000", "a:1,b"} {
		if got, err := endpointsOf("advertise", list); err == nil {
			t.Errorf("%q names %v", list, got)
		}
	}
}

// TestHowManyProcessorsItUses: half the processors, unless a setting gives another number.
func TestHowManyProcessorsItUses(t *testing.T) {
	for _, c := range []struct{ asked, available, want int }{
		{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 16, 8}, {3, 16, 3}, {2, 1, 2},
	} {
		if got := processors(c.asked, c.available); got != c.want {
			t.Errorf("asked for %d of %d it uses %d, not %d", c.asked, c.available, got, c.want)
		}
	}
}

// TestFlagsThatAreWrong are refused before anything starts.
func TestFlagsThatAreWrong(t *testing.T) {
	for _, args := range []string{"--tls-cert x", "--tls-key x", "more", "--cluster-tls maybe", "--advertise a",
		"--cluster-tls on --cluster-ca /is/not/there", "--cluster-ca x", "--tls-client-ca x",
		"--cluster-tls on --cluster-cert x", "--cluster-tls on --cluster-cert x --cluster-key x",
		"--max-queued 0", "--publish a:1 --advertise a:1", "--publish a",
		"--processors -1", "--publish a:1,b:1",
		"--publish a:0", "--publish :1", "--publish a:1 --token-file /is/not/there"} {
		o, err := parse(strings.Fields(args))
		if err == nil {
			_, err = configOf(o, slog.New(slog.DiscardHandler))
		}
		if err == nil {
			err = publish(o, nil)
		}
		if err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// flags finds all text resembling a flag with a value.
var flags = regexp.MustCompile(`(?m)[ "]--([a-z-]+)[ =][^-]`)

// TestFlagsOfTheUnit: all flags in the unit's settings, in the image's comment and in the manifest are flags for this
// program.
func TestFlagsOfTheUnit(t *testing.T) {
	deploy := filepath.Join("..", "..", "..", "deploy")
	for _, file := range []string{"systemd/signalbox-ydb.env", "ydb.Dockerfile", "kubernetes/ydb.yaml"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range flags.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains([]string{"from"}, name[1]) { // of COPY
				continue
			}
			found++
			_, err := parse([]string{"--" + name[1], "1"})
			if err != nil && strings.Contains(err.Error(), "not defined") {
				t.Errorf("%s: there is no --%s", file, name[1])
			}
		}
		if found < 2 {
			t.Errorf("%s names %d flags", file, found)
		}
	}
}

// TestItServes over TLS, answers operators' requests, and stops when its context ends.
func TestItServes(t *testing.T) {
	ports, err := subprocess.ReservePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, pool := selfSigned(t)
	o, err := parse([]string{"--listen", ports.Addresses[0], "--metrics-listen", ports.Addresses[1], "--tls-cert",
		certificate,
		"--tls-key", key, "--endpoints", "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, o, slog.New(slog.DiscardHandler)) }()
	over, err := grpc.NewClient(o.listen, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	a, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(over).ListEndpoints(t.Context(),
		&Ydb_Discovery.ListEndpointsRequest{}, grpc.WaitForReady(true))
	list := &Ydb_Discovery.ListEndpointsResult{}
	if err != nil || a.Operation.Result.UnmarshalTo(list) != nil || len(list.Endpoints) != 1 || !list.Endpoints[0].Ssl {
		t.Errorf("discovery answers %v, %v", a, err)
	}
	for page, want := range map[string]string{
		"/livez": "ok\n", "/readyz": "ok\n", "/metrics": "signalbox_ydb_sessions 0\n",
	} {
		r, err := http.Get("http://" + o.metrics + page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, %q, %v", page, r.StatusCode, text, err)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// selfSigned writes this machine's certificate and key, and returns a pool that trusts the certificate.
func selfSigned(t *testing.T) (certificate, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		pool.AppendCertsFromPEM(text)
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret), pool
}
