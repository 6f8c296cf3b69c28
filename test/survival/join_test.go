//go:build linux

package survival_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/internal/testcert"
)

// useTLS gives a host a certificate with its name, used for its peers.
func (p *place) useTLS(t *testing.T, a *testcert.Authority) {
	t.Helper()
	f := a.Sign(t, p.Name)
	p.Args = append(p.Args, "--raft-tls-cert", f.CertFile, "--raft-tls-key", f.KeyFile, "--raft-tls-ca", f.CAFile)
}

// TestHostsJoinByTheirCertificates: a host joins with nothing but a certificate from the hosts' authority. A
// certificate with a wrong name, or from a different authority, is refused.
func TestHostsJoinByTheirCertificates(t *testing.T) {
	places := growingPlaces(t, "a", "b", "c", "d")
	authority, other := testcert.New(t), testcert.New(t)
	a, b, c, d := places[0], places[1], places[2], places[3]
	a.useTLS(t, authority)
	b.useTLS(t, authority)
	named := authority.Sign(t, "another-host")
	c.Args = append(c.Args, "--raft-tls-cert", named.CertFile, "--raft-tls-key", named.KeyFile, "--raft-tls-ca",
		named.CAFile)
	d.useTLS(t, other)
	first := a.begin(t)
	hosts := []*host{first, b.serve(t)}
	hosts[1].awaitReady()
	awaitReplicas(hosts)
	c.serve(t).awaitRefused("the host name is c")
	stranger := d.serve(t)
	stranger.await("it is turned away", func() bool {
		return strings.Contains(stranger.Errors(), "certificate signed by unknown authority")
	})
	if known := first.status().Cluster.Hosts; len(known) != 2 {
		t.Errorf("the cluster has the hosts %+v", known)
	}
}

// TestAHostJoinsByATokenThatTheCommandMade: the hosts share a secret, given to the joining host in exchange for its
// token. A second host cannot use the same token.
func TestAHostJoinsByATokenThatTheCommandMade(t *testing.T) {
	places := growingPlaces(t, "a", "b", "c")
	a, b, c := places[0], places[1], places[2]
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Args = append(a.Args, "--raft-secret-file", secret)
	first := a.begin(t)
	made := exec.Command(program.Path, "host", "join-token", "create", "--endpoints", a.Client)
	token, err := made.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, token)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Args = append(b.Args, "--join-token-file", file)
	c.Args = append(c.Args, "--join-token-file", file)
	hosts := []*host{first, b.serve(t)}
	hosts[1].awaitReady()
	awaitReplicas(hosts)
	c.serve(t).awaitRefused("create another one with signalbox host join-token create")

	hosts[1].Kill() // it has kept the secret obtained with the token
	hosts[1] = b.serve(t)
	hosts[1].awaitReady()
}
