package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
	"github.com/signalbox/signalbox/server/settings"
)

// The codes of check, by the worst that it finds.
const (
	exitWarned = 81
	exitUnwell = 82
)

// level is how bad a finding is.
type level int

const (
	levelOK level = iota
	levelWarn
	levelFail
)

func (l level) String() string { return [...]string{"ok", "warn", "fail"}[l] }

// MarshalText implements encoding.TextMarshaler.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// finding is the result of one check.
type finding struct {
	Level   level  `json:"level"`
	Subject string `json:"subject"`
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"`
}

// findings gathers what is found, in order.
type findings struct{ list []finding }

// well adds what is as it should be.
func (f *findings) well(subject, format string, a ...any) {
	f.list = append(f.list, finding{Level: levelOK, Subject: subject, Found: fmt.Sprintf(format, a...)})
}

// add adds what was found, with what to do about it if it is not well.
func (f *findings) add(l level, subject, advice, format string, a ...any) {
	if l == levelOK {
		advice = ""
	}
	f.list = append(f.list, finding{l, subject, fmt.Sprintf(format, a...), advice})
}

func (f *findings) worst() (l level) {
	for i := range f.list {
		l = max(l, f.list[i].Level)
	}
	return l
}

// checkCommand is one run of check.
type checkCommand struct {
	*cli.Frame
	admin []string
	disk  string
	quiet bool
}

// newCheck returns the command that checks a cluster.
func newCheck(f *cli.Frame) *cobra.Command {
	k := &checkCommand{Frame: f}
	c := &cobra.Command{
		Use:   "check",
		Short: "Is the cluster well, its disk fast enough, its limits sane?",
		Long: `Looks at a cluster, and tells what is well, what is not, and what to do about it:

  over the protocol      hosts that answer, what may fail, hosts that are away or
                         cannot take part, leaders, versions, hosts that lag,
                         rollouts that have halted or are stuck, rounds of
                         processes that hang, and when certificates end
  over the admin pages   readiness, room on the disk, how long the log waits for the
                         disk, open files, quotas, pauses, slow watchers, clocks,
                         and when the certificates in use end
  on this machine        with --disk DIR, how long a write to that disk takes

The admin pages are those of --admin, and of all hosts that these know of. They can
often be reached only from the machines of the hosts.

A disk is probed with 200 small writes, each made durable like those of the log. It
needs a directory on the disk that hosts will use, and leaves nothing in it.

Exit codes: 0 all is well; 81 something should be looked at; 82 something is wrong.
signalbox help exit-codes has the others.`,
		Example: `  signalbox check

  # hosts that are elsewhere, and only what is not well
  signalbox check --endpoints a.example,b.example,c.example --admin a.example:7422 --quiet

  # is a disk good enough for a host?
  signalbox check --disk /var/lib/signalbox`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return k.check() },
	}
	c.Flags().StringSliceVar(&k.admin, "admin", []string{settings.DefaultAdminListen}, "admin pages of one host or more: `ADDRESSES`; those of the others are found through them")
	c.Flags().StringVar(&k.disk, "disk", "", "a `DIRECTORY` on a disk of this machine to probe")
	c.Flags().BoolVarP(&k.quiet, "quiet", "q", false, "show only what is not well")
	_ = c.MarkFlagDirname("disk")
	return f.Command(c)
}

// check makes all checks, and shows what they find.
func (c *checkCommand) check() error {
	connection, err := c.Connection()
	if err != nil {
		return err
	}
	base, stop := cli.UntilInterrupted(context.Background())
	defer stop()
	var x findings
	if err := c.within(base, connection, func(ctx context.Context) {
		checkCluster(ctx, connection, &x)
		checkCertificates(ctx, connection, &x)
	}); err != nil {
		return err
	}
	if err := c.within(base, connection, func(ctx context.Context) { checkHosts(c.readPages(ctx), &x) }); err != nil {
		return err
	}
	if c.disk != "" && !cli.WasInterrupted(base) {
		checkDisk(base, c.Frame, c.disk, &x)
	}
	if cli.WasInterrupted(base) {
		return context.Cause(base)
	}
	return c.show(&x)
}

// readPages reads the pages of all hosts. A host that had no requests for a while confirms only on a request that it is
// up to date, and is not ready until then. So the pages of hosts that are not ready are read again.
func (c *checkCommand) readPages(ctx context.Context) []pages.Reading {
	for try := 1; ; try++ {
		hosts := pages.Read(ctx, c.admin)
		unready := slices.ContainsFunc(hosts, func(h pages.Reading) bool { return h.Err == nil && !h.Status.Ready })
		if !unready || try == checkTries {
			return hosts
		}
		select {
		case <-time.After(checkPause):
		case <-ctx.Done():
			return hosts
		}
	}
}

// within does something in the time that a command has.
func (c *checkCommand) within(ctx context.Context, connection *cli.Connection, do func(context.Context)) error {
	ctx, cancel, err := connection.Within(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	do(ctx)
	return nil
}

// show prints the findings.
func (c *checkCommand) show(x *findings) error {
	colours := map[level]cli.Colour{levelOK: cli.Green, levelWarn: cli.Yellow, levelFail: cli.Red}
	counts := make(map[level]int)
	for _, f := range x.list {
		counts[f.Level]++
		if c.quiet && f.Level == levelOK {
			continue
		}
		text := fmt.Sprintf("%s %s: %s", c.Paint(colours[f.Level], fmt.Sprintf("%-4s", f.Level)), cli.Safe(f.Subject),
			cli.Safe(f.Found))
		if f.Advice != "" {
			text += "\n     " + f.Advice
		}
		if err := c.Line(f, "%s", text); err != nil {
			return err
		}
	}
	c.Say("signalbox: %d looked at: %d well, %d to look at, %d wrong", len(x.list), counts[levelOK], counts[levelWarn],
		counts[levelFail])
	switch x.worst() {
	case levelWarn:
		return cli.ExitWith(exitWarned, cli.ErrSilent)
	case levelFail:
		return cli.ExitWith(exitUnwell, cli.ErrSilent)
	}
	return nil
}

// checkCluster checks what hosts answer over the protocol.
func checkCluster(ctx context.Context, connection *cli.Connection, x *findings) {
	box, err := connection.Open(ctx)
	var hosts []client.HostStatus
	if err == nil {
		defer box.Close()
		hosts, err = askHosts(ctx, box)
	}
	if err != nil {
		todo := "start a host, or look at --endpoints"
		if errors.Is(err, client.ErrUnauthorized) {
			todo = "give a token that the hosts know, or add the line of this one to the --token-file of every host"
		}
		x.add(levelFail, "cluster", todo, "it cannot be asked: %s", cli.Explain(err))
		return
	}
	judgeCluster(hosts, askGovernor(ctx, box, hosts), x)
	checkRollouts(ctx, box, x)
	checkProcesses(ctx, box, x)
}

// manyEntries is a lag that a host does not have in normal operation.
const manyEntries = 10_000

// judgeCluster judges the answers of hosts, and what the one that governs says of all: nil for nothing.
func judgeCluster(hosts []client.HostStatus, whole *admin.Cluster, x *findings) {
	s := newStatusObject(hosts)
	var silent, stale, behind []string
	versions := make(map[string]bool)
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Error != "" {
			silent = append(silent, h.Address+" ("+h.Error+")")
			continue
		}
		versions[h.Version] = true
		if !h.Fresh {
			stale = append(stale, h.Name)
		}
		for _, on := range h.Shards {
			if on.Lag > manyEntries {
				behind = append(behind, fmt.Sprintf("%s by %d in shard %d", h.Name, on.Lag, on.ID))
			}
		}
	}
	if n := len(silent); n == 0 {
		x.well("hosts", "all answer: %d", len(s.Hosts))
	} else {
		l := levelWarn
		if 2*n >= len(s.Hosts) {
			l = levelFail
		}
		x.add(l, "hosts", "start them again: while they are away one more can be one too many",
			"%d of %d do not answer: %s", n, len(s.Hosts), strings.Join(silent, "; "))
	}
	var unknown []string
	for _, e := range s.Silent {
		unknown = append(unknown, e.Address+" ("+e.Error+")")
	}
	if len(unknown) > 0 {
		x.add(levelWarn, "endpoints",
			"no host is known by such an address: look at what --endpoints, its variable or the context says",
			"%d of those given do not answer: %s", len(unknown), strings.Join(unknown, "; "))
	}
	if whole != nil {
		judgeMembers(whole, x)
	} else {
		judgeRedundancy(len(s.Hosts), x)
	}
	x.none(levelFail, "leaders", s.leaderless(), "every shard has one: "+strconv.Itoa(len(s.Shards)),
		"there is none of shard %s", "changes are refused there until a majority of the hosts speak to each other: "+
			"look at their logs and at the network between them")
	x.none(levelFail, "changes", s.refusals(), "no host refuses them", "refused by %s",
		"make room on the disks that are named; a host whose disk is nearly full takes no more of the log either, and "+
			"catches up when there is room")
	x.none(levelWarn, "freshness", stale,
		"every host that answers made sure lately that it leads what it believes to lead",
		"%s did not make sure lately", "they cannot reach a majority of the others, or have no time to: look at "+
			"their logs and their load")
	x.none(levelWarn, "lag", behind, "no host is far behind in the log of a shard",
		"far behind in the log: %s", "their disks, or the network, are too slow for what is written")
	switch {
	case s.LevelHeldBy != "":
		x.add(levelWarn, "feature level", "what came with the next level can be used when every host can follow: "+
			"upgrade those that cannot, and start those that are away",
			"%d; %s", s.FeatureLevel, s.LevelHeldBy)
	case s.FeatureLevel > 0:
		x.well("feature level", "%d, and no host can follow a higher one", s.FeatureLevel)
	}
	judgeGenerations(hosts, s.Generation, x)
	if len(versions) > 1 {
		x.add(levelWarn, "versions", "this is as it should be while a cluster is being upgraded, and at no other time",
			"the hosts differ: %s", joinKeys(versions))
	} else if len(versions) == 1 {
		x.well("versions", "all hosts that answer have the same: %s", joinKeys(versions))
	}
}

// judgeGenerations judges whether hosts of an earlier cluster run beside those of the one that was made of it.
func judgeGenerations(hosts []client.HostStatus, newest uint64, x *findings) {
	var older []string
	for i := range hosts {
		if h := &hosts[i]; h.Err == nil && h.Generation < newest {
			older = append(older, h.Name)
		}
	}
	if newest > 0 {
		x.none(levelFail, "generation", older, fmt.Sprintf("every host that answers is of generation %d", newest),
			"an earlier one at %s", "the cluster was restored or recovered without them, and clients that reach them "+
				"work in another cluster: stop them for good")
	}
}

// none judges a list that should be empty.
func (f *findings) none(otherwise level, subject string, list []string, well, ill, advice string) {
	if len(list) == 0 {
		f.well(subject, "%s", well)
		return
	}
	f.add(otherwise, subject, advice, ill, strings.Join(list, ", "))
}

// judgeRedundancy judges by the number of hosts alone: there are no records of them.
func judgeRedundancy(hosts int, x *findings) {
	switch hosts {
	case 1:
		x.well("redundancy", "one host: while it is away, no client is served")
	case 2:
		x.add(levelWarn, "redundancy", "add a third host: a cluster of two stops when either of them does",
			"there are two hosts")
	default:
		x.well("redundancy", "of %d hosts %d may be away at a time", hosts, (hosts-1)/2)
	}
}

// checkPatience is how long after its start a host counts as starting.
const checkPatience = 10 * time.Second

const (
	// checkTries is how often the pages of hosts are read that are not ready, and checkPause the time in between.
	checkTries = 3
	checkPause = 500 * time.Millisecond
)
