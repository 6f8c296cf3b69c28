package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestAHookDrainsTheHostOfItsContainer: it needs no name but the one that the host has been given. A host that is alone
// cannot be drained, which says that it was the right one.
func TestAHookDrainsTheHostOfItsContainer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	x.await("the hosts have records", func() bool { return x.run("host", "list").code == cli.ExitDone })
	if r := x.run("host", "drain"); r.code != cli.ExitUsage || !strings.Contains(r.err, "HOST is missing") {
		t.Errorf("without a name: %+v", r)
	}
	named := x.with("SIGNALBOX_NAME=signalbox")
	if r := named.run("host", "drain"); r.code == cli.ExitDone ||
		!strings.Contains(r.err, "host signalbox cannot be drained") {
		t.Errorf("with a name: %+v", r)
	}
	if r := named.run("host", "drain", "other"); r.code != cli.ExitNotFound || !strings.Contains(r.err, `no host "other"`) {
		t.Errorf("of another one: %+v", r)
	}
}

// TestADrainThatIsBoundedEnds: a hook that has so long must not be killed in the middle, when no host answers.
func TestADrainThatIsBoundedEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections stay in its queue
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	code, _, said := command(nil, "host", "drain", "a", "--within", "300ms", "--timeout", "2m", "--endpoints",
		silent.Addr().String())
	if code != cli.ExitUnavailable || !strings.Contains(said, "host a is not drained after 300ms") {
		t.Errorf("code %d, %s", code, said)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestThePolicyIsWhatItsFlagsSay: flags change the policy, the rest of the policy stays, and without flags it is shown.
func TestThePolicyIsWhatItsFlagsSay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	x.await("the hosts have records", func() bool { return x.run("host", "list").code == cli.ExitDone })
	x.ok("cluster", "policy", "--copies", "3", "--balance-every", "0s")
	x.ok("cluster", "policy", "--stable-for", "7s")
	says := func(parts ...string) {
		t.Helper()
		text := strings.Join(strings.Fields(x.ok("cluster", "policy")), " ")
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("it does not say %q: %s", part, text)
			}
		}
	}
	says("copies 3", "balance every never", "stable for 7s", "replicas all")
	x.await("the cluster can follow the level of shards on some hosts", func() bool {
		return x.run("cluster", "policy", "--replicas", "3").code == cli.ExitDone
	})
	says("replicas 3", "copies 3")
	r := x.run("cluster", "policy", "--replicas", "1")
	if r.code != cli.ExitUsage || !strings.Contains(r.err, "--yes") {
		t.Errorf("one replica without --yes: %+v", r)
	}
	says("replicas 3")
	x.ok("cluster", "policy", "--replicas", "1", "--yes")
	says("replicas 1")
	x.ok("cluster", "policy", "--replicas", "all")
	says("replicas all")
}
