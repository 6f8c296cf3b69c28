package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	rights "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/access"
)

// accessFile writes access rules with a full-rights token.
func accessFile(t *testing.T, token string) string {
	t.Helper()
	line, err := access.Line(rights.Principal{Name: "token:root", SHA256: access.HashText(token),
		Grants: []rights.Grant{{Role: rights.RoleRoot, Path: "/"}}})
	path := filepath.Join(t.TempDir(), "access.yaml")
	if err == nil {
		err = os.WriteFile(path, []byte("principals:\n"+line+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitLack waits until a host's only missing requirement is the given one.
func awaitLack(t *testing.T, h *Host, text string) {
	t.Helper()
	for end := within(t, time.Minute); ; {
		lacks := h.Ready()
		switch {
		case lacks == nil:
			t.Fatalf("host %s is ready", h.settings.Name)
		case strings.Contains(lacks.Error(), text):
			return
		}
		select {
		case <-end.Done():
			t.Fatalf("host %s lacks %v", h.settings.Name, lacks)
		case <-h.Done():
			t.Fatalf("host %s ended: %v", h.settings.Name, h.Err())
		case <-time.After(readyPoll):
		}
	}
}

// TestAClosedClusterAdmitsNoAnonymousClientBeforeItsRulesAreImported: in a cluster bootstrapped with an access file,
// the meta leader and a joined host lack the file. Both reject clients without a token.
func TestAClosedClusterAdmitsNoAnonymousClientBeforeItsRulesAreImported(t *testing.T) {
	t.Parallel() // mostly waiting
	s := joining(t, "a")
	s.AccessFile = accessFile(t, "secret")
	if _, err := Init(Options{Settings: s}); err != nil {
		t.Fatal(err)
	}
	without := s
	without.AccessFile = ""
	a := startSome(t, without)[0]
	b := startSome(t, joining(t, "b", a))[0]
	for _, h := range []*Host{a, b} {
		awaitLack(t, h, "the cluster has no access rules yet")
		if c, err := client.Open(t.Context(), h.Addresses().Client); !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("host %s lets in an anonymous client: %v", h.settings.Name, err)
			if err == nil {
				_ = c.Close()
			}
		}
	}
	a.Close()
	a = startSome(t, s)[0]
	awaitReady(t, a, b)
	c, err := client.Open(t.Context(), b.Addresses().Client, client.WithToken("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(t.Context(), "/jobs", client.NodeConfig{}); err != nil {
		t.Error(err)
	}
}

// TestHostsWithOtherAccessFilesDoNotBootstrap: one host has no access file, or one with different rules.
func TestHostsWithOtherAccessFilesDoNotBootstrap(t *testing.T) {
	t.Parallel() // mostly waiting
	for name, file := range map[string]string{"none": "", "other rules": accessFile(t, "other")} {
		t.Run(name, func(t *testing.T) {
			all := newClusterSettings(t, "a", "b")
			all[0].AccessFile, all[1].AccessFile = accessFile(t, "secret"), file
			for _, h := range startSome(t, all...) {
				awaitLack(t, h, "--initial-hosts, --cluster-name, --shards and "+
					"--access-file must be equal on all hosts: access control is ")
				if id := h.Identity(); id.Bootstrapped() {
					t.Errorf("host %s is bootstrapped", h.settings.Name)
				}
			}
		})
	}
}
