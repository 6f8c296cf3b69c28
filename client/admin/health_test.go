package admin

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/health"
)

// TestClocksAndGenerationsThatDifferAreHealthIssues: the merged list has these issues; no single host can see them.
// Hosts without an answer do not count.
func TestClocksAndGenerationsThatDifferAreHealthIssues(t *testing.T) {
	for name, c := range map[string]struct {
		all  []hostAnswer
		want map[health.Kind]string // a part of the text
	}{
		"alike": {[]hostAnswer{{name: "a", generation: 2}, {name: "b", generation: 2, ahead: -clocksApart}}, nil},
		"one clock is ahead": {[]hostAnswer{{name: "a", ahead: time.Second}, {name: "b", ahead: 62 * time.Second},
			{name: "c", ahead: -time.Second}},
			map[health.Kind]string{health.ClockSkew: "the largest difference is 1m3s, between c and b"}},
		"one is of before a recovery": {[]hostAnswer{{name: "a", generation: 3}, {name: "b", generation: 2}},
			map[health.Kind]string{health.StaleGeneration: "the host has generation 2, and the cluster has " +
				"generation 3"}},
		"it does not answer": {[]hostAnswer{{name: "a", generation: 3},
			{name: "b", ahead: time.Hour, generation: 2, err: errors.New("refused")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var list HealthIssues
			list.merge(c.all)
			if len(list.Items) != len(c.want) {
				t.Fatalf("%+v", list.Items)
			}
			for _, x := range list.Items {
				if part, ok := c.want[x.Kind]; !ok || !strings.Contains(x.Text, part) || x.Do == "" {
					t.Errorf("%+v", x)
				}
				if x.Kind == health.StaleGeneration && x.Host != "b" {
					t.Errorf("of the host %q", x.Host)
				}
			}
		})
	}
}

// TestWhyAHostDoesNotAnswerIsSaidOnce: the address stands beside the reason, without the standard library's words
// around the cause.
func TestWhyAHostDoesNotAnswerIsSaidOnce(t *testing.T) {
	_, err := net.Dial("tcp", "127.0.0.1:1")
	if err == nil {
		t.Skip("something listens at 127.0.0.1:1")
	}
	const address = "127.0.0.1:1"
	if got := reasonOf(address, fmt.Errorf("host %s: %w", address, err)); got != "connection refused" {
		t.Errorf("%q", got)
	}
}

// TestAHostThatWasExpelledIsNotMissed: a client with old knowledge of the host asks for the host until the client ends.
func TestAHostThatWasExpelledIsNotMissed(t *testing.T) {
	c := &Cluster{Hosts: []Host{{ID: 1, Current: HostState{State: Online}},
		{ID: 2, Current: HostState{State: Expelled}}}}
	for id, want := range map[uint64]bool{0: true, 1: true, 2: false, 3: false} {
		if got := c.belongs(id); got != want {
			t.Errorf("host %d: %v", id, got)
		}
	}
}
