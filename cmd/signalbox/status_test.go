package main

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
	"github.com/signalbox/signalbox/internal/apijson"
	feature "github.com/signalbox/signalbox/protocol/level"
)

func TestStatusOfAClusterThatLosesItsHosts(t *testing.T) {
	var hosts []*hostProcess
	var endpoints []string
	for _, p := range newCluster(t, "a", "b", "c") {
		hosts = append(hosts, p.serve(t, "--shards", "2"))
		endpoints = append(endpoints, p.Client)
	}
	for _, s := range hosts {
		s.awaitReady()
	}
	x := newTool(t, hosts[0].place.Client).with("SIGNALBOX_ENDPOINTS=" + strings.Join(endpoints, ","))
	var s status.Status
	read := func(more ...string) result {
		t.Helper()
		r := x.run(append([]string{"status", "-o", "json"}, more...)...)
		s = status.Status{}
		if err := apijson.Decode([]byte(r.out), &s); err != nil && r.out != "" {
			t.Fatalf("%v: %s", err, r.out)
		}
		return r
	}
	x.await("all is as it should be", func() bool {
		code := read().code
		t.Logf("code %d: %+v", code, s)
		return code == 0 && isWhole(&s)
	})
	x.await("all of it is shown", func() bool {
		text := x.run("status", "-o", "wide").out
		t.Log(text)
		return showsThreeHosts(text)
	})

	// One lost host is harmless, two are not.
	hosts[2].signal(syscall.SIGKILL)
	hosts[2].wait(patience)
	hosts[0].await("the others lead", func() bool {
		r := read()
		return r.code == 0 && len(s.Hosts) == 3 && s.Hosts[2].Err != nil && s.Shards[0].Leader != 3 &&
			s.Shards[1].Leader != 3
	})
	x.await("it shows that one does not answer", func() bool {
		r := x.run("status")
		t.Logf("code %d: %s", r.code, r.out)
		return r.code == 0 && strings.Contains(r.out, "2 of 3 answer") && strings.Contains(r.out, "\nNo answer\n")
	})
	hosts[1].signal(syscall.SIGKILL)
	hosts[1].wait(patience)
	hosts[0].await("no shard has a leader", func() bool { return read("--timeout", "2s").code == cli.ExitUnavailable })
}

// isWhole reports whether three hosts lead two shards, and all hosts respond. On a slow machine this is false now and
// then for a while.
func isWhole(s *status.Status) bool {
	leads := 0
	for i, h := range s.Hosts {
		leads += len(h.Leads)
		if h.Name != string(rune('a'+i)) || h.Err != nil || !h.Fresh || h.Version != programVersion() ||
			len(h.Shards) != 2 {
			return false
		}
	}
	return leads == 2 && len(s.Hosts) == 3 && len(s.Shards) == 2
}

// showsThreeHosts reports whether a page lists three hosts with their shards.
func showsThreeHosts(text string) bool {
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "ADDRESS")
	text = regexp.MustCompile(`led by [abc]\n`).ReplaceAllString(text, "led by X\n")
	text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	text = strings.ReplaceAll(text, "\n ", "\n")
	for _, lines := range []string{
		fmt.Sprint("hosts 3 of 3 answer\nshards 2, each with a leader\nmeta shard led by X\nfeature level ",
			feature.Newest) +
			"\nfailures tolerated 1\n\n" +
			"Hosts\nID NAME ADDRESS VERSION UP FRESH LEADS CONNECTIONS SESSIONS\n1 a ADDRESS ",
		"\nShards\nID LEADER TERM APPLIED LAG SESSIONS SEMAPHORES WAITERS ROLLOUTS PROCESSES\n1 ",
		"\nShards on hosts\nHOST SHARD LEADER TERM APPLIED LAG\na 1 ",
	} {
		if !strings.Contains(text, lines) {
			return false
		}
	}
	return true
}
