//go:build linux

package survival_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
)

// operator operates a cluster with the tool's commands.
type operator struct {
	t         *testing.T
	endpoints string
	look      *admin.Admin
}

func newOperator(t *testing.T, places []*place) *operator {
	t.Helper()
	var list []string
	for _, p := range places {
		list = append(list, p.Client)
	}
	return &operator{t: t, endpoints: strings.Join(list, ","), look: admin.New(newCounter(t, places).box)}
}

// run runs a command.
func (o *operator) run(args ...string) (output string, err error) {
	c := exec.Command(program.Path, append(args, "--endpoints", o.endpoints)...)
	text, err := c.CombinedOutput()
	return string(text), err
}

// ok runs a command that must succeed.
func (o *operator) ok(args ...string) {
	o.t.Helper()
	if output, err := o.run(args...); err != nil {
		o.t.Fatalf("signalbox %v: %v: %s", args, err, output)
	}
}

// read decodes a command's JSON output: one value, or one per line.
func (o *operator) read(into any, args ...string) {
	o.t.Helper()
	c := exec.Command(program.Path, append(args, "--endpoints", o.endpoints, "-o", "json")...)
	text, err := c.Output()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		o.t.Fatalf("signalbox %v: %v: %s", args, err, text)
	}
}

// transferTime is the time limit for leadership transfers, which are spaced out.
const transferTime = 4 * time.Minute

// await waits until the cluster satisfies a condition.
func (o *operator) await(what string, is func(c *admin.Cluster) bool) {
	o.t.Helper()
	var last *admin.Cluster
	for late := time.Now().Add(transferTime); ; time.Sleep(100 * time.Millisecond) {
		c, err := o.look.Describe(o.t.Context())
		if err == nil && c.Observed && is(c) {
			return
		}
		if last = c; time.Now().After(late) {
			o.t.Fatalf("not within %v: %s: %v, %+v", transferTime, what, err, last)
		}
	}
}

// votes reports whether each shard has n voting replicas, all alive.
func votes(n int) func(*admin.Cluster) bool {
	return func(c *admin.Cluster) bool {
		return !slices.ContainsFunc(c.Shards, func(s admin.Shard) bool { return s.Voters != n || s.Live != n })
	}
}

// TestAnOperatorActsOnTheHostsByCommands: Leaderships are spread, and moved manually; a host is cordoned, altered and
// replaced; the history has authors and reasons.
func TestAnOperatorActsOnTheHostsByCommands(t *testing.T) {
	t.Parallel()
	places, a := growing(t, "a", "b", "c", "d")
	o := newOperator(t, places)
	o.ok("cluster", "policy", "set", "--stabilization-time", "1s", "--leader-rebalance-interval", "0s")
	hosts := []*host{a, places[1].serve(t), places[2].serve(t)}
	for _, h := range hosts {
		h.awaitReady()
	}
	o.await("all shards have three votes", votes(3))

	o.ok("cluster", "policy", "set", "--leader-rebalance-interval", "10s")
	o.await("each host leads one shard", func(c *admin.Cluster) bool {
		led := make(map[uint64]bool)
		for _, s := range c.Shards {
			led[s.Leader] = true
		}
		return len(led) == len(hosts) && !led[0]
	})
	o.ok("cluster", "policy", "set", "--leader-rebalance-interval", "0s")
	o.ok("shard", "transfer-leader", "1", "b", "--reason", "b is near")
	o.await("b leads shard 1", func(c *admin.Cluster) bool {
		return c.Shards[1].ID == 1 && c.HostByName("b").ID == c.Shards[1].Leader
	})

	o.ok("host", "cordon", "b", "--author", "eve", "--reason", "its disk is slow")
	o.ok("host", "alter", "b", "--failure-domain", "rack=7")
	var shown struct {
		Cordoned bool   `json:"cordoned"`
		Domain   string `json:"domain"`
	}
	if o.read(&shown, "host", "show", "b"); !shown.Cordoned || shown.Domain != "rack=7" {
		t.Errorf("b is shown as %+v", shown)
	}
	o.ok("host", "uncordon", "b")
	o.ok("host", "alter", "b", "--failure-domain", "")

	hosts = append(hosts, places[3].serve(t))
	hosts[3].awaitReady()
	hosts[2].Kill()
	o.replace("c", "d")
	o.checkRest()
	o.checkHistory()
}

// replace replaces a killed host by a successor, as soon as the loss is detected.
func (o *operator) replace(old, successor string) {
	o.t.Helper()
	var gone uint64
	o.await("it is replaced, once it is silent", func(c *admin.Cluster) bool {
		gone = c.HostByName(old).ID
		if c.HostByName(old).Alive {
			return false
		}
		_, err := o.run("host", "replace", old, successor, "--reason", "its machine is gone")
		return err == nil
	})
	o.await("the other one votes in its place", func(c *admin.Cluster) bool {
		return votes(3)(c) && !slices.ContainsFunc(c.Shards, func(s admin.Shard) bool {
			return slices.ContainsFunc(s.Replicas, func(r admin.Replica) bool {
				return r.Host == gone && r.Role == admin.Voter
			})
		})
	})
}

// checkRest waits until the commands show no pending work.
func (o *operator) checkRest() {
	o.t.Helper()
	o.ok("cluster", "why", "--wait")
	var plan struct {
		Steps []struct{ Text string }
	}
	if o.read(&plan, "cluster", "plan"); len(plan.Steps) > 0 {
		o.t.Errorf("at rest the plan is %+v", plan)
	}
	if output, err := o.run("cluster", "step", "list", "-o", "json"); err != nil || strings.Contains(output, "kind") {
		o.t.Errorf("at rest the open steps are %s, %v", output, err)
	}
}

// checkHistory looks for the actions in the history.
func (o *operator) checkHistory() {
	o.t.Helper()
	output, err := o.run("cluster", "audit", "--limit", "1000")
	if err != nil {
		o.t.Fatalf("%v: %s", err, output)
	}
	for _, parts := range [][]string{
		{"b", "eve", "its disk is slow"}, {"b is near"}, {"c", "its machine is gone"}, {"policy"},
	} {
		if !slices.ContainsFunc(strings.Split(output, "\n"), func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			o.t.Errorf("the history has no line with %q:\n%s", fmt.Sprint(parts), output)
		}
	}
}
