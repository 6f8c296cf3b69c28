//go:build linux

package survival_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
)

// barrier is a run of cluster why --wait.
type barrier struct {
	t     *testing.T
	text  strings.Builder
	ended chan error
}

// wait begins to wait until nothing is left to do.
func (o *operator) wait(args ...string) *barrier {
	o.t.Helper()
	b := &barrier{t: o.t, ended: make(chan error, 1)}
	args = append([]string{"cluster", "why", "--wait", "--endpoints", o.endpoints}, args...)
	c := exec.CommandContext(o.t.Context(), program.Path, args...)
	c.Stdout, c.Stderr = &b.text, &b.text
	if err := c.Start(); err != nil {
		o.t.Fatal(err)
	}
	go func() { b.ended <- c.Wait() }()
	return b
}

// well waits until the wait ends, and checks the cluster state at that time and the lines printed before.
func (b *barrier) well(o *operator, is func(*admin.Cluster) bool, lines ...string) {
	b.t.Helper()
	select {
	case err := <-b.ended:
		if err != nil {
			b.t.Fatalf("%v: %s", err, b.text.String())
		}
	case <-time.After(patience):
		b.t.Fatalf("it waits on")
	}
	text := b.text.String()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			b.t.Errorf("it does not say %q:\n%s", line, text)
		}
	}
	c, err := o.look.Describe(b.t.Context())
	if err != nil || !is(c) {
		b.t.Errorf("it says well too early: %v, %+v\n%s", err, c, text)
	}
	if n := strings.Count(text, "\n"); n > 40 {
		b.t.Errorf("it says %d lines", n)
	}
	b.t.Log(text)
}

// TestUpgradingAsThePageSaysLeavesNoHostBehind: the documented upgrade: drain, stop, start, wait; for the cluster's
// first host, with a spare that takes over its votes. The wait begins before the new process has reported anything.
func TestUpgradingAsThePageSaysLeavesNoHostBehind(t *testing.T) {
	t.Parallel()
	places, a := growing(t, "a", "b", "c", "d")
	o := newOperator(t, places)
	o.ok("cluster", "policy", "set", "--stabilization-time", "1s", "--leader-rebalance-interval", "0s")
	hosts := []*host{a}
	for _, p := range places[1:] {
		hosts = append(hosts, p.serve(t))
	}
	whole := func(c *admin.Cluster) bool {
		n := 0
		for i := range c.Hosts {
			if h := &c.Hosts[i]; h.Current.State == admin.Online && h.AtTarget() && h.Alive {
				n++
			}
		}
		for i := range c.Shards {
			if len(c.Shards[i].Replicas) != len(places) {
				return false
			}
		}
		return n == len(places) && votes(3)(c)
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	o.wait().well(o, whole)
	o.ok("host", "drain", "a", "--wait")
	hosts[0].stop()
	waits := o.wait()
	hosts[0] = places[0].serve(t)
	waits.well(o, whole, "host a: drained until")
	hosts[3].stop()
	waits, without := o.wait(), o.wait("--except", "d")
	select {
	case err := <-without.ended:
		if err != nil {
			t.Errorf("%v: %s", err, without.text.String())
		}
	case <-time.After(patience):
		t.Error("it waits for a host that is to stay away")
	}
	hosts[3] = places[3].serve(t)
	waits.well(o, whole, "host d: stopped until")
}
