package main

import (
	"context"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// askGovernor returns what the host that governs says of all hosts; where none can be asked, what some host has on
// record of them, which says less. It is nil where the hosts have no records: not all of them can follow the level of
// those.
func askGovernor(ctx context.Context, box *client.Client, hosts []client.HostStatus) *admin.Cluster {
	ctx, cancel := governorPatience(ctx)
	defer cancel()
	if s := newStatusObject(hosts); s.Meta != nil && s.Meta.Leader != 0 {
		for try := 1; ; try++ {
			c, err := admin.Of(box).Describe(ctx)
			if err != nil {
				break
			}
			if c.Observed || try == checkTries || !sleepFor(ctx, checkPause) {
				return c
			}
		}
	}
	if c, err := admin.Of(box).Describe(ctx, admin.Relaxed()); err == nil {
		return c
	}
	return nil
}

// governorPatience leaves half of the time that there is for what follows.
func governorPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// sleepFor waits, and returns whether the context lasts.
func sleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// shardRedundancyObject is what a shard can lose, as JSON.
type shardRedundancyObject struct {
	Wanted    int `json:"voters_wanted"`
	Voters    int `json:"voters"`
	Live      int `json:"voters_alive"`
	Tolerated int `json:"failures_tolerated"`
}

// addCluster adds what is known of the hosts as a whole.
func (s *statusObject) addCluster(c *admin.Cluster) {
	if c == nil {
		return
	}
	s.Concerns = concernObjects(c)
	if !c.Observed {
		return
	}
	for i := range c.Shards {
		x := &c.Shards[i]
		if s.Tolerated == nil || x.Tolerated < *s.Tolerated {
			s.Tolerated = &x.Tolerated
		}
		o := &shardRedundancyObject{x.Wanted, x.Voters, x.Live, x.Tolerated}
		if x.ID == 0 && s.Meta != nil {
			s.Meta.Redundancy = o
		}
		for j := range s.Shards {
			if s.Shards[j].ID == x.ID {
				s.Shards[j].Redundancy = o
			}
		}
	}
}

// concernCells are what is not as it should be, as a table has it.
func concernCells(list []concernObject) (rows [][]any) {
	for _, x := range list {
		rows = append(rows, []any{strings.ToLower(x.Severity), x.Text, shardNames(x.Shards), x.Mend})
	}
	return rows
}

var concernTitles = []string{"HOW BAD", "WHAT", "SHARDS", "WHAT TO DO"}

// judgeMembers judges what the hosts as a whole can lose, and what is not as it should be with each.
func judgeMembers(c *admin.Cluster, x *findings) {
	if !c.Observed {
		x.add(levelWarn, "redundancy",
			"the leader of the meta shard governs: look at its log, and at the leaders above",
			"what may fail is not known: no host governs the cluster, or it has not heard from the others")
	} else if least := leastRedundant(c); least != nil {
		l := levelOK
		switch {
		case least.Tolerated < 0:
			l = levelFail
		case least.Tolerated == 0 && least.Voters > 1:
			l = levelWarn
		}
		x.add(l, "redundancy", "bring back the hosts that are away, or replace them",
			"of the voters of shard %s %d of %d are alive; %d more may fail", shardName(least.ID), least.Live,
			least.Voters, max(0, least.Tolerated))
	}
	for _, one := range c.Concerns {
		subject := "cluster"
		switch {
		case one.Host != 0:
			subject = "state of " + hostName(c, one.Host)
		case len(one.Shards) > 0:
			subject = "shards " + shardNames(one.Shards)
		}
		x.add(levelOf(one.Severity), subject, cli.Safe(one.Mend), "%s", one.Text)
	}
}

// leastRedundant is the shard that can lose the fewest voters.
func leastRedundant(c *admin.Cluster) (least *admin.Shard) {
	for i := range c.Shards {
		if s := &c.Shards[i]; least == nil || s.Tolerated < least.Tolerated {
			least = s
		}
	}
	return least
}

func levelOf(s admin.Severity) level {
	switch s {
	case admin.Failure:
		return levelFail
	case admin.Warning:
		return levelWarn
	}
	return levelOK
}
