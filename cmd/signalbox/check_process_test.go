package main

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/process"
)

func TestCheckFindsRoundsThatHang(t *testing.T) {
	t.Parallel()
	p, _, _ := lockPlace(t)
	x := newTool(t, p.Client)
	check := func(want string) {
		t.Helper()
		if r := x.run("check", "--admin", p.Admin); !strings.Contains(r.out, want) {
			t.Errorf("it says\n%s\nand not\n%s", r.out, want)
		}
	}
	if r := x.run("check", "--admin", p.Admin); strings.Contains(r.out, "rounds") {
		t.Errorf("there are none: %s", r.out)
	}
	x.ok("process", "create", "/jobs", "counter", "--reply-timeout", "10ms")
	check("ok   hanging rounds: none of 1 processes\n")
	x.member("/jobs", "a", "--on-prepare", "sleep 600", "--kill-after", "0s")
	p.tool(t, "process", "watch", "/jobs", "counter").says(" waits for 1 of 1 members to be prepared: a (")
	check("warn hanging rounds: members keep these waiting: counter in /jobs: epoch ")
}

func TestRoundsThatHang(t *testing.T) {
	long, short := atMoment(2*hangsAfter), atMoment(time.Second)
	for _, c := range []struct {
		reason process.StopReason
		want   bool
	}{
		{process.StopReason{Code: process.ReasonReply, Since: long}, true},
		{process.StopReason{Code: process.ReasonReply, Since: short}, false},
		{process.StopReason{Code: process.ReasonPrepare, Since: short, Late: true}, true},
		{process.StopReason{Code: process.ReasonComplete, Since: long}, true},
		{process.StopReason{Code: process.ReasonCoordinator, Since: long}, false},
		{process.StopReason{Code: process.ReasonFewMembers, Since: long, Blocked: true}, false},
	} {
		if got := hangs(&c.reason); got != c.want {
			t.Errorf("%+v: %t, want %t", c.reason, got, c.want)
		}
	}
}
