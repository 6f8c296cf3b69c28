// Package health reads the health issues of all hosts and prints them as tables.
package health

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol/health"
)

const (
	// startPatience is how long a list with a leaderless shard is read again. Directly after a start, no host leads
	// for a moment, and a host that has had no requests for a while first confirms that its state is fresh.
	startPatience = 3 * time.Second
	// StartPause is the pause between two readings.
	StartPause = 200 * time.Millisecond
)

// Read asks all hosts for health issues.
func Read(ctx context.Context, box *client.Client) (*admin.HealthIssues, error) {
	for began := time.Now(); ; {
		list, err := admin.New(box).HealthIssues(ctx)
		if err != nil || time.Since(began) > startPatience || !slices.ContainsFunc(list.Items, passes) {
			return list, err
		}
		if !cli.SleepFor(ctx, StartPause) {
			return list, nil
		}
	}
}

// passes reports whether a health issue may disappear shortly after a start.
func passes(c admin.HealthIssue) bool { return c.Kind == health.NoLeader }

// Section is a table of health issues.
func Section(list []admin.HealthIssue) operation.Section {
	return cli.Section("Health issues",
		[]string{"HOW BAD", "WHAT", "SINCE", "WAITS FOR", "ISSUE", "WHAT TO DO"},
		cli.Map(list, func(c admin.HealthIssue) []any {
			return []any{c.Severity, c.Subject, Ago(c.Since), c.WaitsFor, Text(&c), c.Do}
		}))
}

// Text describes the issue, and counts similar ones.
func Text(c *admin.HealthIssue) string {
	if c.More == 0 {
		return c.Text
	}
	return c.Text + "; the same for " + strconv.Itoa(c.More) + " more"
}

// Ago returns how long a health issue has lasted, empty if unknown.
func Ago(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return max(time.Since(since), 0).Round(time.Second).String()
}

// UnansweredSection is a table of hosts without a list of health issues.
func UnansweredSection(list []admin.UnreachableHost) operation.Section {
	return cli.Section("Unreachable hosts", []string{"HOST", "ADDRESS", "REASON"},
		cli.Map(list, func(u admin.UnreachableHost) []any { return []any{u.Host, u.Address, u.Reason} }))
}

// Unanswered formats hosts as part of a sentence.
type Unanswered []admin.UnreachableHost

// String names the hosts, each with the reason why it has not answered.
func (u Unanswered) String() string {
	return strings.Join(cli.Map(u, func(one admin.UnreachableHost) string {
		return strings.TrimSpace(one.Host+" "+one.Address) + " (" + one.Reason + ")"
	}), "; ")
}

// Patience returns a context with half the remaining time, so that half remains for the next step.
func Patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return cli.Patience(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// Tolerance describes how many failures all shards can tolerate.
func Tolerance(c *admin.Cluster) string {
	if !c.Observed || len(c.Shards) == 0 {
		return "not known"
	}
	least := c.Shards[0].Tolerated
	for i := range c.Shards {
		least = min(least, c.Shards[i].Tolerated)
	}
	if least < 0 {
		return "no majority"
	}
	return fmt.Sprint(least)
}
