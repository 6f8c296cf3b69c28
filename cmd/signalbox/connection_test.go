package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/server/settings"
)

func TestTLSAndTokensFromFlagsVariablesAndContexts(t *testing.T) {
	ca, cert, key, _ := certificates(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	admin, reader := access.NewToken(), access.NewToken()
	rulesWith := func(reader string) string {
		return accessFile(t, [3]string{"admin", admin, "root:/"}, [3]string{"reader", reader, "read:/prod"})
	}
	p := newPlace(t)
	s := p.serve(t, "--listen", "off", "--tls-listen", p.Client, "--tls-cert", cert, "--tls-key", key,
		"--tls-client-ca", ca, "--access-file", rulesWith(reader))
	s.awaitReady()
	x := newTool(t, p.Client)
	adminFile, readerFile := write("admin", admin+"\n"), write("reader", reader)
	tls := []string{"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key}
	with := func(args ...string) []string { return append(args, tls...) }

	x.ok(with("node", "create", "/prod", "--token-file", adminFile)...)
	x.with("SIGNALBOX_TOKEN=" + admin).ok(with("node", "create", "/other")...)
	x.with("SIGNALBOX_CACERT="+ca, "SIGNALBOX_CLIENT_TLS_CERT="+cert, "SIGNALBOX_CLIENT_TLS_KEY="+key,
		"SIGNALBOX_CLIENT_TOKEN_FILE="+readerFile).ok("node", "describe", "/prod")
	x.ok(with("context", "set", "reader", "--token-file", readerFile)...)
	x.ok("node", "describe", "/prod")

	x.fails(cli.ExitNoRight, "signalbox access list shows token permissions", "node", "create", "/prod/x")
	x.fails(cli.ExitNoRight, "", "node", "describe", "/other")
	x.with("SIGNALBOX_TOKEN=wrong").fails(cli.ExitNoRight, "give a token with --token-file or SIGNALBOX_TOKEN",
		with("node", "list")...)
	x.with("HOME="+dir).fails(cli.ExitNoRight, "", with("node", "list")...)
	x.with("HOME="+dir).fails(cli.ExitUnavailable, "give the CA that signed the host certificates with "+
		"--tls-ca", "node", "list",
		"--tls", "--token-file", adminFile)
	x.with("HOME="+dir).fails(cli.ExitUnavailable, "give one with --tls-cert and "+
		"--tls-key", "node", "list", "--tls-ca", ca,
		"--token-file", adminFile)
	check := x.with("HOME="+dir, "SIGNALBOX_TOKEN=wrong").run(with("check")...)
	if !strings.Contains(check.out, "give a valid token") {
		t.Errorf("check with a token that no host knows: %+v", check)
	}
	x.with("HOME="+dir).learns(p.Client+" requires TLS; use --tls",
		"node", "list", "--timeout", "2s", "--token-file", adminFile)
	x.with("HOME="+dir).learns(p.Admin+" speaks HTTP, as a host's admin address does", "node",
		"list", "--timeout", "2s", "--endpoints", p.Admin)
	x.ok(append(append([]string{"--tls"}, tls...), "node", "describe", "/prod", "--token-file", adminFile)...)
	x.with("HOME="+dir).fails(cli.ExitUnavailable, "give the expected name with --tls-server-name",
		with("node", "list", "--tls-server-name", "other.example")...)

	// A long-running command outlives its token: the next connection uses the new token.
	watch := x.start("semaphore", "watch", "/prod", "lock")
	watch.awaitLine(1)
	newer := access.NewToken()
	write("reader", newer)
	x.ok(with("access", "import", rulesWith(newer), "--token-file", adminFile)...)
	s.await("the old token is refused", func() bool {
		return x.with("SIGNALBOX_TOKEN="+reader).run("node", "describe", "/prod").code == cli.ExitNoRight
	})
	x.ok("semaphore", "create", "/prod", "lock", "--token-file", adminFile)
	if line := watch.awaitLine(2); !strings.Contains(line, "created") {
		t.Errorf("the watch tells %q", line)
	}
	watch.endsBy(syscall.SIGTERM, cli.ExitDone)
}

func TestTheTLSOfAContextIsForItsOwnEndpoints(t *testing.T) {
	x, _ := sharedTool(t)
	ca, _, _, _ := certificates(t)
	x.ok("context", "set", "prod", "--endpoints", "prod.example:7423,other.example:7423", "--tls-ca", ca)
	for _, r := range []result{x.run("node", "list"), x.run("node", "list", "--endpoints", shared.address())} {
		if r.code != 0 ||
			!strings.Contains(r.err,
				"the settings of context prod for --tls-ca are not used with other endpoints") {
			t.Errorf("%+v", r)
		}
	}
	if text := x.ok("context", "show", "--endpoints", "other.example:7423"); !strings.Contains(text, ca) {
		t.Errorf("one of its own endpoints is reached otherwise: %s", text)
	}
	x.learns(shared.address()+" does not speak TLS, but this command does (flag)", "node", "list", "--tls")
	x.ok("context", "set", "prod", "--endpoints", shared.address())
	x.with("SIGNALBOX_ENDPOINTS=").learns("does not speak TLS, but this command does (context prod)", "node", "list")
}

// learns runs a command that cannot use an endpoint. The command must report the protocol of the endpoint, unless the
// endpoint did not respond in time.
func (t *tool) learns(say string, args ...string) {
	t.t.Helper()
	t.await("it says "+say, func() bool {
		r := t.run(args...)
		if r.code != cli.ExitUnavailable || r.out != "" {
			t.t.Fatalf("%v: %+v", args, r)
		}
		return strings.Contains(r.err, say)
	})
}

func TestAnEndpointThatDoesNotAnswerIsNoHost(t *testing.T) {
	p, _, _ := lockPlace(t)
	nobody := newPlace(t) // reserves ports without a process
	dead := nobody.Client
	x := newTool(t, p.Client+","+dead)
	text := x.ok("status")
	if !strings.Contains(text, "  1 of 1 answer\n") ||
		!strings.Contains(text, dead+"   no host has the address: ") {
		t.Errorf("it shows %s", text)
	}
	text = x.run("check").out
	for _, want := range []string{
		"answers: 1 of 2 hosts did not report their health issues: " + nobody.Client} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestNoHostAnswers(t *testing.T) {
	t.Parallel()
	x, _ := sharedTool(t)
	silent, _ := listenInSilence(t)
	x.fails(cli.ExitUnavailable, "the endpoints are "+silent+" (flag); give others with --endpoints", "node", "list",
		"--endpoints", silent, "--timeout", "200ms")
	x.fails(cli.ExitUnavailable, "the endpoints are "+silent+" (flag)", "semaphore", "watch", "/x", "y", "--endpoints",
		silent, "--timeout", "200ms")
	silent, called := listenInSilence(t)
	s := x.start("node", "list", "--endpoints", silent, "--timeout", "10m")
	s.await("it has connected", func() bool { return len(called) > 0 })
	s.endsBy(os.Interrupt, cli.ExitSignal+int(syscall.SIGINT))
}

// listenInSilence accepts connections at an address and never responds. Each connection sends a value to called.
func listenInSilence(t *testing.T) (address string, called <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	calls := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls <- struct{}{}
			go func() {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String(), calls
}

func TestVariablesOfCommandsAreNoneOfHosts(t *testing.T) {
	var environment []string
	for _, name := range cli.Variables() {
		environment = append(environment, name+"=x")
	}
	// A host would refuse or warn about a variable that it takes for one of its settings.
	s, err := settings.Load(settings.Sources{Environment: environment})
	if err != nil || len(s.Warnings()) > 0 {
		t.Errorf("hosts take the variables of commands for their own: %v, %v", err, s.Warnings())
	}
}
