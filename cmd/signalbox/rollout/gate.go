package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// gateCommand is one run of rollout gate.
type gateCommand struct {
	runner.SessionRunner
	judgement rollout.GateReport // the part all reports share
	atOnce    bool
	again     time.Duration
}

// byHand are the flags that pass a verdict without a command.
var byHand = []struct {
	flag   string
	result rollout.Result
	usage  string
}{
	{"pass", rollout.GatePassed, "Report that `VERSION` has passed, without running a command"},
	{"fail", rollout.GateFailed, "Report that `VERSION` has failed, without running a command"},
	{"inconclusive", rollout.GateInconclusive, "Report that the check of `VERSION` is inconclusive, without " +
		"running a command"},
}

func newGate(f *cli.Frame) *cobra.Command {
	g := &gateCommand{SessionRunner: newRunner(f)}
	c := &cobra.Command{
		Use:   "gate PATH NAME --location LOCATION --gate GATE [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Check the versions of a location at a gate",
		Long: `Checks a location's targets at a gate: when all leaders have reached a target, runs
COMMAND with the version's payload on standard input and the environment variables
SIGNALBOX_VERSION, SIGNALBOX_LABEL, SIGNALBOX_NODE, SIGNALBOX_ROLLOUT,
SIGNALBOX_LOCATION and SIGNALBOX_GATE. No later location gets the version before the
gate has passed.

The exit status of COMMAND is the verdict:
  0       passed
  75      inconclusive: COMMAND is run again after --recheck-after
  others  failed; the last line of output is kept as the reason

A gate without a checker stays pending. When the location gets another target, a running
COMMAND is no longer needed.

--pass, --fail and --inconclusive give the verdict by hand, without a COMMAND. If the
location has another target by then the exit code is 79.

` + runner.SessionHelp,
		Example: `  signalbox rollout gate /prod dns --location man --gate errors -- ./few-errors man

  # by hand
  signalbox rollout gate /prod dns --location man --gate errors --pass 18 --message 'looks good'`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			if g.judgement.Location == "" || g.judgement.Gate == "" {
				return cli.Misuse(c, "--location or --gate is missing")
			}
			g.judgement.By = cmp.Or(g.judgement.By, cli.UserAtMachine(f))
			given := false
			for _, way := range byHand {
				if c.Flags().Changed(way.flag) {
					if given {
						return cli.Misuse(c, "give only --pass, --fail or --inconclusive")
					}
					given, g.judgement.Verdict.Result = true, way.result
				}
			}
			if given {
				return g.judge(c, args)
			}
			if g.judgement.Verdict.Text != "" {
				return cli.Misuse(c, "--message requires --pass, --fail or --inconclusive")
			}
			if g.again <= 0 {
				return cli.Misuse(c, "--recheck-after must be above zero, but is %v", g.again)
			}
			if err := g.Prepare(c, args); err != nil {
				return err
			}
			return g.Serve(c, g.watch)
		},
	}
	c.Flags().StringVar(&g.judgement.Location, "location", "", "`LOCATION` whose targets are checked")
	c.Flags().StringVar(&g.judgement.Gate, "gate", "", "`GATE` name")
	c.Flags().BoolVar(&g.atOnce, "on-assign", false, "Run COMMAND when the location gets a target, without waiting "+
		"for its leaders")
	c.Flags().DurationVar(&g.again, "recheck-after", 10*time.Second, "Time after which an inconclusive check is "+
		"repeated, `DURATION`")
	for _, way := range byHand {
		c.Flags().Uint64Var(&g.judgement.Seq, way.flag, 0, way.usage)
	}
	c.Flags().StringVar(&g.judgement.Verdict.Text, "message", "", "Finding recorded with the verdict of --pass, "+
		"--fail or --inconclusive, `TEXT`")
	c.Flags().StringVar(&g.judgement.By, "author", "", "Author recorded in the rollout, `TEXT`. Default: USER@MACHINE")
	_ = c.RegisterFlagCompletionFunc("gate", f.PartsOfRollout(func(s *rollout.State) (gates []string) {
		for _, l := range s.Locations {
			if g.judgement.Location == "" || g.judgement.Location == l.Name {
				gates = append(gates, l.Location.Gates...)
			}
		}
		return gates
	}))
	g.AddFlags(c)
	return c
}

// judge passes a verdict manually.
func (g *gateCommand) judge(c *cobra.Command, args []string) error {
	if err := cli.Arguments("PATH", "NAME")(c, args); err != nil {
		return err
	}
	return g.Ask(c, func(ctx context.Context, box *client.Client) error {
		j := g.judgement
		err := rollout.New(box, args[0], args[1]).ReportGate(ctx, j)
		if err == nil {
			g.Say("gate %s in %s: version %d %s", cli.Safe(j.Gate), cli.Safe(j.Location), j.Seq, j.Verdict.Result)
		}
		return err
	})
}

// watch checks targets until the context ends.
func (g *gateCommand) watch(ctx context.Context, s *client.Session, _ *cli.Connection) error {
	var failure error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &g.judgement
	g.Note("checks %s for %s in %s", cli.Safe(j.Gate), cli.Safe(g.Name), cli.Safe(j.Location))
	check := func(ctx context.Context, v rollout.Version) rollout.Verdict {
		verdict, err := g.check(ctx, s, v)
		if err != nil && !errors.Is(err, runner.ErrStopping) {
			failure = err
			cancel()
		}
		return verdict
	}
	err := rollout.Gate(ctx, s, g.Name, j.Location, j.Gate, check, rollout.CheckedBy(j.By))
	if failure != nil {
		return failure
	}
	return err
}

// check runs the command for a target until there is a verdict.
func (g *gateCommand) check(ctx context.Context, s *client.Session, v rollout.Version) (rollout.Verdict, error) {
	r := rollout.NewInSession(s, g.Name)
	if err := g.awaitLeaders(ctx, r, v.Seq); err != nil || ctx.Err() != nil {
		return rollout.Verdict{}, err
	}
	variables := targetVariables(g.judgement.Location, v.Seq, v.Label)
	variables[gateVariable] = g.judgement.Gate
	for {
		out, err := g.Run(ctx, v.Payload, g.Out, variables)
		if err != nil || ctx.Err() != nil {
			return rollout.Verdict{}, err
		}
		verdict := rollout.Verdict{Result: rollout.GatePassed, Text: out.Last}
		switch out.Status {
		case 0:
		case runner.ExitAgain:
			verdict.Result = rollout.GateInconclusive
		default:
			verdict = rollout.Verdict{Result: rollout.GateFailed, Text: out.Err().Error()}
		}
		g.Note("version %s: %s%s", cli.Safe(versionText(v.Seq, v.Label)), verdict.Result,
			cli.Safe(cli.BehindColon(verdict.Text)))
		if verdict.Result != rollout.GateInconclusive {
			return verdict, nil
		}
		j := g.judgement
		j.Seq, j.Verdict = v.Seq, verdict
		if err := r.ReportGate(ctx, j); err != nil && ctx.Err() == nil {
			g.Note("cannot report the verdict: %s", cli.Explain(err))
		}
		if !cli.SleepFor(ctx, g.again) {
			return rollout.Verdict{}, nil
		}
	}
}

// awaitLeaders waits until enough leaders have reached the version, so that only gates remain to be awaited.
func (g *gateCommand) awaitLeaders(ctx context.Context, r *rollout.Rollout, seq uint64) error {
	if g.atOnce {
		return nil
	}
	for s, err := range r.Watch(ctx, 0) {
		if err != nil || ctx.Err() != nil {
			return fmt.Errorf("cannot wait for the leaders: %w", err)
		}
		l := s.Location(g.judgement.Location)
		if l != nil && l.Target.Seq == seq && (l.Target.Reached.Happened || atGate(s, l.Name)) {
			return nil
		}
	}
	return nil
}

// atGate reports whether a location waits only for its gates.
func atGate(s *rollout.State, location string) bool {
	return slices.ContainsFunc(s.Reasons, func(r rollout.BlockReason) bool {
		return r.Location == location && r.Code == rollout.ReasonGate
	})
}
