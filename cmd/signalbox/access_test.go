package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/access"
)

// close creates the first access rule, a token with all rights, and returns a tool with the token.
func (t *tool) close() (root *tool) {
	t.t.Helper()
	token := strings.TrimSpace(t.ok("access", "token", "create", "root", "--grant", "root:/"))
	return t.with("SIGNALBOX_TOKEN=" + token)
}

// TestTheNamesInACertificateArePrincipals: a client certificate authenticates without a token. The client has the
// rights of its common name and alternative names together.
func TestTheNamesInACertificateArePrincipals(t *testing.T) {
	t.Parallel()
	ca, cert, key, _ := certificates(t) // for the common name test, and the alternative names a, b and c
	p := newPlace(t)
	p.serve(t, "--listen", "off", "--tls-listen", p.Client, "--tls-cert", cert, "--tls-key", key,
		"--tls-client-ca", ca).awaitReady()
	x := newTool(t, p.Client).with("SIGNALBOX_CACERT="+ca, "SIGNALBOX_CLIENT_TLS_CERT="+cert,
		"SIGNALBOX_CLIENT_TLS_KEY="+key)
	for _, path := range []string{"/prod", "/jobs", "/other"} {
		x.ok("node", "create", path)
	}
	root := x.close()
	x.fails(cli.ExitNoRight, "a token is required", "node", "list")
	root.ok("access", "grant", "cn:test", "read", "/prod")
	root.ok("access", "grant", "san:b", "write", "/jobs")
	root.ok("access", "grant", "san:other", "root", "/")
	x.ok("node", "describe", "/prod")
	x.ok("config", "put", "/jobs", "limits", "8")
	x.fails(cli.ExitNoRight, "but not for", "config", "put", "/prod", "limits", "8")
	x.fails(cli.ExitNoRight, "", "node", "describe", "/other")
	if list := x.ok("node", "list"); !strings.Contains(list, "/jobs") || !strings.Contains(list, "/prod") ||
		strings.Contains(list, "/other") {
		t.Errorf("the nodes that it sees:\n%s", list)
	}
	if shown := root.ok("access", "denials"); !strings.Contains(shown, "cn:test") {
		t.Errorf("the refusals name it otherwise:\n%s", shown)
	}
	root.ok("access", "revoke", "cn:test")
	x.fails(cli.ExitNoRight, "", "node", "describe", "/prod")
	x.ok("config", "get", "/jobs", "limits")
	root.ok("access", "revoke", "san:b")
	x.fails(cli.ExitNoRight, "a token is required", "node", "list")
}

// TestAnAccessFileBesideRootTokens: a host refuses to start if its --token-file has roles other than root, and names
// the fix. With --access-file, the first start imports the file. A root token of the host is valid regardless of the
// cluster's access rules.
func TestAnAccessFileBesideRootTokens(t *testing.T) {
	t.Parallel()
	var entries [][3]string
	secrets := map[string]string{}
	for _, role := range []string{"read", "write", "admin"} {
		secrets[role] = access.NewToken()
		entries = append(entries, [3]string{role, secrets[role], role + ":/"})
	}
	tokens := accessFile(t, entries...)
	ops, line := generated(t, "--name", "ops")
	rootTokens := filepath.Join(t.TempDir(), "root-tokens.yaml")
	if err := os.WriteFile(rootTokens, []byte("principals:\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	p.refused(t, cli.ExitUsage, []string{"signalbox access import", "--access-file"}, "--token-file", tokens)
	p.serve(t, "--access-file", tokens, "--token-file", rootTokens).awaitReady()
	x := newTool(t, p.Client)
	as := func(role string) *tool { return x.with("SIGNALBOX_TOKEN=" + secrets[role]) }
	admin := as("admin")
	x.fails(cli.ExitNoRight, "", "node", "list")
	admin.ok("node", "create", "/prod")
	for _, c := range []struct {
		least   string // roles with the right
		command []string
	}{
		{"read", []string{"node", "describe", "/prod"}},
		{"read", []string{"semaphore", "list", "/prod"}},
		{"write", []string{"semaphore", "create", "/prod", "s", "--limit", "2"}},
		{"write", []string{"config", "put", "/prod", "c", "value"}},
		{"write", []string{"lock", "/prod", "l", "--", "true"}},
		{"admin", []string{"semaphore", "delete", "/prod", "s"}},
		{"admin", []string{"node", "create", "/prod/below"}},
		{"admin", []string{"node", "drop", "/prod/below", "--yes"}},
		{"admin", []string{"access", "list"}},
	} {
		may := false
		for _, role := range []string{"read", "write", "admin"} {
			if may = may || role == c.least; may {
				if role == c.least {
					as(role).ok(c.command...)
				}
			} else if r := as(role).run(c.command...); r.code != cli.ExitNoRight {
				t.Errorf("%s: %v: code %d\n%s", role, c.command, r.code, r.err)
			}
		}
	}
	// No role here allows operations on the whole cluster.
	admin.fails(cli.ExitNoRight, "", "host", "cordon", "signalbox")
	admin.fails(cli.ExitNoRight, "does not have itself", "access", "token", "create", "all", "--grant", "root:/")
	admin.fails(cli.ExitNoRight, "that takes the role root on /", "access", "export")
	admin.fails(cli.ExitNoRight, "that takes the role root on /", "access", "import", tokens)
	admin.fails(cli.ExitState, "would remove your permission to change access "+
		"rules", "access", "token", "revoke", "admin")
	root := x.with("SIGNALBOX_TOKEN=" + ops)
	for _, name := range []string{"root", "read", "write", "admin"} {
		root.ok("access", "token", "revoke", name)
	}
	admin.fails(cli.ExitNoRight, "", "node", "list")
	x.fails(cli.ExitNoRight, "", "node", "list") // without rules left, the cluster is not open again
	root.ok("access", "import", tokens)
	admin.ok("node", "list")
}

// push waits for a push.
func (w *wire) push(kind protocol.Kind) *protocol.Answer {
	w.t.Helper()
	_ = w.conn.SetDeadline(time.Now().Add(patience))
	for {
		if a := w.read(); a.Kind == kind {
			return a
		}
	}
}

// TestRightsHoldOnEveryHostOfACluster: a token created, granted or revoked through one host changes on every host, for
// open connections too.
func TestRightsHoldOnEveryHostOfACluster(t *testing.T) {
	t.Parallel()
	var hosts []*hostProcess
	for _, p := range newCluster(t, "a", "b", "c") {
		hosts = append(hosts, p.serve(t, "--ping-interval", "1m")) // connections in the test do not ping
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	root := newTool(t, hosts[0].place.Client).close()
	root.ok("node", "create", "/prod")
	root.ok("semaphore", "create", "/prod", "lock", "--limit", "1")
	secret := strings.TrimSpace(root.ok("access", "token", "create", "ci", "--grant", "read:/prod"))
	all := helloToAll(t, hosts, secret, nil) // a new token is good on every host at once
	for _, w := range all {
		if status := w.describe("/prod"); status != protocol.StatusSuccess {
			t.Fatalf("a new token: %v", status)
		}
		node := w.ask(&protocol.NodeDescribe{Path: []byte("/prod")}).NodeDescribe.Node.ID
		watch := &protocol.Watch{NodeID: node, Name: []byte("lock"), Owners: true}
		root.await("the watch is open", func() bool { return w.ask(watch).Result.Status == protocol.StatusSuccess })
	}
	root.ok("access", "revoke", "token:ci", "read", "/prod")
	for _, w := range all {
		if status := w.push(protocol.KindWatchEnd).WatchEnd.Result.Status; status != protocol.StatusUnauthorized {
			t.Errorf("the watch ended with %v", status)
		}
		if status := w.describe("/prod"); status != protocol.StatusUnauthorized {
			t.Errorf("after the loss: %v", status)
		}
	}
	root.ok("access", "grant", "token:ci", "read", "/prod")
	for _, w := range all {
		root.await("the grant holds", func() bool { return w.describe("/prod") == protocol.StatusSuccess })
	}
	root.ok("access", "token", "revoke", "ci")
	for i, w := range all {
		if why := w.push(protocol.KindGoingAway).GoingAway.Result; why.Status != protocol.StatusUnauthorized {
			t.Errorf("the connection ended with %v", why)
		}
		root.await("the token is refused", func() bool {
			_, status := hello(t, hosts[i].place.Client, secret, nil)
			return status == protocol.StatusUnauthorized
		})
	}
}

// TestThePageOfRightsAsTyped types the commands of docs/access.md.
func TestThePageOfRightsAsTyped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(t).awaitReady()
	page, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	const marker = "<!-- A test types these commands. -->\n```sh\n"
	script := "set -e\n"
	for _, part := range strings.Split(string(page), marker)[1:] {
		commands, _, _ := strings.Cut(part, "```")
		script += commands
	}
	if n := strings.Count(script, "signalbox "); n < 20 {
		t.Fatalf("the page has %d commands", n)
	}
	x := newTool(t, p.Client).with("PATH=" + linkSignalbox(t) + ":" + os.Getenv("PATH"))
	printed := x.shell(script)
	for _, want := range []string{"it runs\n", "yes: token:ci has write:/prod/jobs",
		"0 roles and 1 principals imported",
		"0 roles and 1 principals unchanged: already imported", "token billing is revoked"} {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}
}
