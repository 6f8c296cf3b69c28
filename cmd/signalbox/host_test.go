package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestAHookDrainsTheHostOfItsContainer: the host's own configured name is enough. A single host cannot be drained, so
// the error proves that the hook found the right host.
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
	if r := named.run("host", "drain", "other"); r.code != cli.ExitNotFound || !strings.Contains(r.err,
		`no host "other"`) {
		t.Errorf("of another one: %+v", r)
	}
}

// TestADrainThatIsBoundedEnds: a hook has limited time, and must end before it is killed, even if no host responds.
func TestADrainThatIsBoundedEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections stay in the listen queue
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	code, _, said := command(nil, "host", "drain", "a", "--wait-timeout", "300ms", "--timeout", "2m", "--endpoints",
		silent.Addr().String())
	if code != cli.ExitUnavailable || !strings.Contains(said, "host a is not drained after 300ms") {
		t.Errorf("code %d, %s", code, said)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestNoTimeIsNoBound: a hook with an invalid setting must not exit as if it had waited.
func TestNoTimeIsNoBound(t *testing.T) {
	t.Parallel()
	for _, within := range []string{"0s", "-1s"} {
		code, _, said := command(nil, "host", "drain", "a", "--wait-timeout", within, "--endpoints", "127.0.0.1:1")
		if code != cli.ExitUsage || !strings.Contains(said, "--wait-timeout "+within+" is invalid; give a "+
			"duration above 0") {
			t.Errorf("--wait-timeout %s: code %d, %s", within, code, said)
		}
	}
}

// TestAnActThatTakesItsTimeIsDoneWhenItIsDone: until the end the command reports progress, also to a second caller with
// the same order.
func TestAnActThatTakesItsTimeIsDoneWhenItIsDone(t *testing.T) {
	var hosts []*hostProcess
	for _, p := range newCluster(t, "a", "b", "c") {
		hosts = append(hosts, p.serve(t))
	}
	for _, s := range hosts {
		s.awaitReady()
	}
	x := newTool(t, hosts[0].place.Client)
	x.await("all vote", func() bool {
		return strings.Contains(x.run("shard", "list").out, "3 of 3")
	})
	if r := x.run("host", "drain", "c", "--wait"); r.code != cli.ExitDone ||
		!strings.Contains(r.err, "host c is drained\n") {
		t.Fatalf("%+v", r)
	}
	if r := x.run("host", "drain", "c"); r.code != cli.ExitDone ||
		!strings.Contains(r.err, "host c was already drained\n") {
		t.Errorf("%+v", r)
	}
	for range 2 { // no host is expelled within the grace period of its clients
		if r := x.run("host", "expel", "c", "--yes"); r.code != cli.ExitDone ||
			!strings.Contains(r.err, "host c is being expelled; signalbox host list shows when the host is EXPELLED") {
			t.Errorf("%+v", r)
		}
	}
}

// TestARecoveryLooksBeforeItAsks: whether the shard exists, and whether it can be recovered.
func TestARecoveryLooksBeforeItAsks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	x.await("the hosts have records", func() bool { return x.run("host", "list").code == cli.ExitDone })
	if r := x.run("cluster", "step", "retry", "shard/1"); !strings.Contains(r.err, "retry step shard/1: ") {
		t.Errorf("a step that does not wait: %+v", r)
	}
	if r := x.run("shard", "recover", "77"); r.code != cli.ExitNotFound || !strings.Contains(r.err, "shard 77 "+
		"does not exist") {
		t.Errorf("of no shard: %+v", r)
	}
	if r := x.run("shard", "recover", "1"); r.code != cli.ExitUsage || !strings.Contains(r.err, "this rebuilds "+
		"shard 1") {
		t.Errorf("of a shard: %+v", r)
	}
	for _, other := range []string{"0", "meta", "x"} {
		if r := x.run("shard", "recover", other); r.code != cli.ExitUsage ||
			!strings.Contains(r.err, other+" is not the number of a data shard") {
			t.Errorf("of %s: %+v", other, r)
		}
	}
}

// TestThePolicyIsWhatItsFlagsSay: flags change parts of the policy, the rest stays, and without flags the policy is
// printed.
func TestThePolicyIsWhatItsFlagsSay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	x.await("the hosts have records", func() bool { return x.run("host", "list").code == cli.ExitDone })
	x.ok("cluster", "policy", "set", "--max-replica-builds", "3", "--leader-rebalance-interval", "0s")
	x.ok("cluster", "policy", "set", "--stabilization-time", "7s")
	says := func(parts ...string) {
		t.Helper()
		text := strings.Join(strings.Fields(x.ok("cluster", "policy", "get")), " ")
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("it does not say %q: %s", part, text)
			}
		}
	}
	says("max replica builds 3", "leader rebalance interval never", "stabilization time 7s", "replicas all")
	x.await("the cluster can follow the level of shards on some hosts", func() bool {
		return x.run("cluster", "policy", "set", "--replicas", "3").code == cli.ExitDone
	})
	says("replicas 3", "max replica builds 3")
	if r := x.run("cluster", "policy", "set", "--max-replica-builds", "-2"); !strings.Contains(r.err, "a number "+
		"must not be negative, but is -2") {
		t.Errorf("fewer than no copies: %+v", r)
	}
	r := x.run("cluster", "policy", "set", "--replicas", "1")
	if r.code != cli.ExitUsage || !strings.Contains(r.err, "--yes") {
		t.Errorf("one replica without --yes: %+v", r)
	}
	says("replicas 3")
	x.ok("cluster", "policy", "set", "--replicas", "1", "--yes")
	says("replicas 1")
	x.ok("cluster", "policy", "set", "--replicas", "all")
	says("replicas all")
}
