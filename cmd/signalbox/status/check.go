package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	issues "github.com/signalbox/signalbox/cmd/signalbox/internal/health"
	"github.com/signalbox/signalbox/protocol/health"
)

// Exit codes of check, by the worst finding.
const (
	ExitWarned = 81
	ExitUnwell = 82
)

// level is a finding's severity.
type level int

const (
	levelOK level = iota
	levelWarn
	levelFail
)

func (l level) String() string { return [...]string{"ok", "warn", "fail"}[l] }

// Finding is the result of one check.
type Finding struct {
	Level   level
	Subject string
	Found   string `name:"message"`
	Advice  string `name:"hint"`
}

// findings collects findings in order.
type findings struct{ list []Finding }

// add adds a finding, with advice if the subject is unhealthy.
func (f *findings) add(l level, subject, advice, format string, a ...any) {
	if l == levelOK {
		advice = ""
	}
	f.list = append(f.list, Finding{l, subject, fmt.Sprintf(format, a...), advice})
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
	disk  string
	quiet bool
}

// newCheck returns the command that checks a cluster.
func newCheck(f *cli.Frame) *cobra.Command {
	k := &checkCommand{Frame: f}
	c := &cobra.Command{
		Use:   "check",
		Short: "Check cluster health and list stuck work",
		Long: `Asks every host for its health issues, and prints one list: unreachable or lagging hosts
and replicas, disks, quotas, certificates and backups, halted and blocked rollouts,
stalled process rounds, and long waits for semaphores. Each issue has its age, what it
waits for, and what to do. The console, signalbox status, cluster why, /v1/health and
the metric signalbox_health_issues have the same list.

With --disk DIR the command also measures the sync latency of a local disk: 200 small
durable writes, as for the log. DIR must be on the disk that a host will use; the
command leaves nothing in DIR.

Exit codes: 0 healthy; 81 warnings; 82 critical issues. signalbox help exit-codes lists
the others.`,
		Example: `  signalbox check

  # only what is not well
  signalbox check --endpoints a.example,b.example,c.example --quiet

  # is a disk good enough for a host?
  signalbox check --disk /var/lib/signalbox`,
		RunE: func(c *cobra.Command, _ []string) error { return k.check() },
	}
	c.Flags().StringVar(&k.disk, "disk", "", "`DIRECTORY` on the local disk to test")
	c.Flags().BoolVarP(&k.quiet, "quiet", "q", false, "Show only problems")
	_ = c.MarkFlagDirname("disk")
	return f.Command(c)
}

// check runs all checks, and shows the findings.
func (c *checkCommand) check() error {
	connection, err := c.Connection()
	if err != nil {
		return err
	}
	base, stop := cli.UntilInterrupted(context.Background())
	defer stop()
	var x findings
	checkCluster(base, connection, &x)
	if c.disk != "" && !cli.WasInterrupted(base) {
		checkDisk(base, c.Frame, c.disk, &x)
	}
	if cli.WasInterrupted(base) {
		return context.Cause(base)
	}
	return c.show(&x)
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
	c.Say("signalbox: %d checks: %d healthy, %d warnings, %d critical", len(x.list), counts[levelOK], counts[levelWarn],
		counts[levelFail])
	switch x.worst() {
	case levelWarn:
		return cli.ExitWith(ExitWarned, cli.ErrSilent)
	case levelFail:
		return cli.ExitWith(ExitUnwell, cli.ErrSilent)
	}
	return nil
}

// checkCluster asks the hosts for health issues.
func checkCluster(ctx context.Context, connection *cli.Connection, x *findings) {
	ctx, cancel := connection.Within(ctx)
	defer cancel()
	box, err := connection.Open(ctx)
	var list *admin.HealthIssues
	if err == nil {
		defer box.Close()
		list, err = issues.Read(ctx, box)
	}
	if err != nil {
		todo := "start a host, or check --endpoints"
		if errors.Is(err, client.ErrUnauthorized) {
			todo = "give a valid token; signalbox access token create creates one"
		}
		x.add(levelFail, "cluster", todo, "unreachable: %s", cli.Explain(err))
		return
	}
	judgeHealthIssues(list, x)
}

// judgeHealthIssues adds the hosts' health issues, and a finding for every group without an issue.
func judgeHealthIssues(list *admin.HealthIssues, x *findings) {
	if n := len(list.Unreachable); n == 0 {
		x.add(levelOK, "answers", "", "all hosts answer: %d", list.Asked)
	} else {
		l := levelWarn
		if 2*n >= list.Asked {
			l = levelFail
		}
		x.add(l, "answers", "start or upgrade these hosts: issues that only they observe are missing below; if "+
			"an address belongs to no host, correct --endpoints, SIGNALBOX_ENDPOINTS or the "+
			"context", "%d of %d hosts did not report their health issues: "+
			"%v", n, list.Asked, issues.Unanswered(list.Unreachable))
	}
	for i := range list.Items {
		c := &list.Items[i]
		text := issues.Text(c)
		if c.WaitsFor != "" {
			text += "; waits for " + c.WaitsFor
		}
		if since := issues.Ago(c.Since); since != "" {
			text += ", for " + since
		}
		x.add(levelOf[c.Severity], c.Subject, cli.Safe(c.Do), "%s", text)
	}
	// Only a shard's leader knows which of its objects are stalled.
	unled := slices.ContainsFunc(list.Items, func(c admin.HealthIssue) bool {
		return c.Kind == health.NoQuorum || c.Kind == health.NoLeader
	})
	for _, g := range health.Groups() {
		told := func(c admin.HealthIssue) bool { return c.Severity != admin.Info && c.Kind.Row().Group == g }
		switch {
		case slices.ContainsFunc(list.Items, told):
		case unled && (g == health.Rollouts || g == health.Processes || g == health.Locks):
			x.add(levelWarn, string(g), "", "unknown while a shard has no leader")
		case len(list.Unreachable) > 0:
			x.add(levelOK, string(g), "", "no issues on the hosts that answer")
		default:
			x.add(levelOK, string(g), "", "no issues")
		}
	}
}

// levelOf maps a health issue's severity to a level, levelOK for a note.
var levelOf = map[admin.Severity]level{admin.Critical: levelFail, admin.Warning: levelWarn}
