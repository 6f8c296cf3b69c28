package rollout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// reportTime is how long a command waits until a report has arrived. Otherwise the report continues in the
// background.
const reportTime = 5 * time.Second

// followCommand is one run of rollout follow.
type followCommand struct {
	runner.SessionRunner
	instance   rollout.Instance
	attributes string
	leader     bool
}

func newFollow(f *cli.Frame) *cobra.Command {
	w := &followCommand{SessionRunner: newRunner(f)}
	c := &cobra.Command{
		Use:   "follow PATH NAME --location LOCATION [flags] -- COMMAND [ARGUMENT...]",
		Short: "Take part as an instance: run a command for each version",
		Long: `Joins a location as an instance, and runs COMMAND for each target of the location;
intermediate versions may be skipped. Standard input of COMMAND has the version's
payload. The environment of COMMAND has:
  SIGNALBOX_VERSION, SIGNALBOX_LABEL   the version
  SIGNALBOX_GENERATION                 of the target: larger for each target than for
                                       all earlier targets, also after a rollback
  SIGNALBOX_ATTEMPT                    1, and one more for each further attempt
  SIGNALBOX_NODE, SIGNALBOX_ROLLOUT, SIGNALBOX_LOCATION, SIGNALBOX_INSTANCE

The exit status of COMMAND is the result:
  0       the version is in use
  75      not yet: COMMAND is run again after a pause
  others  the version cannot be used: COMMAND is run again after a pause, and the code
          exit-N is reported to the rollout. --reelect-codes of signalbox rollout
          create lists the codes for which the target is abandoned

When the location gets another target, a running COMMAND is no longer needed.

An instance starts as a follower, which delays nothing, and becomes a leader after
reaching a target; with --leader the instance is a leader from the start. Instance names
are unique in the rollout. Exit codes: 73 the name is taken; 79 the location does not
exist.

` + runner.SessionHelp,
		Example: `  signalbox rollout follow /prod dns --location sas -- ./load-zones

  # two instances on one machine
  signalbox rollout follow /prod dns --location sas --instance "$(hostname)-2" -- \
    sh -c 'cat >zones.new && mv zones.new zones && kill -HUP $(cat server.pid)'`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			if w.instance.Location == "" {
				return cli.Misuse(c, "--location is missing")
			}
			if err := w.Prepare(c, args); err != nil {
				return err
			}
			if err := runner.OrMachine(c, "instance", &w.instance.Name); err != nil {
				return err
			}
			w.instance.Attributes = []byte(w.attributes)
			return w.Serve(c, w.follow)
		},
	}
	c.Flags().StringVar(&w.instance.Location, "location", "", "Instance `LOCATION`")
	c.Flags().StringVar(&w.instance.Name, "instance", "", "Instance `NAME`. Default: the machine name")
	c.Flags().StringVar(&w.attributes, "attributes", "", "Attributes shown by signalbox rollout instances, "+
		"`TEXT`, such as the program version")
	c.Flags().BoolVar(&w.leader, "leader", false, "Join as a leader: other instances wait for this instance")
	w.AddFlags(c)
	return c
}

// follow takes part until the context ends.
func (c *followCommand) follow(ctx context.Context, s *client.Session, k *cli.Connection) error {
	within, cancel := k.Within(ctx)
	m, err := rollout.Join(within, s, c.Name, c.instance)
	if err == nil && c.leader {
		err = m.Lead(within)
	}
	cancel()
	if err != nil {
		return cli.EndedBy(within, err)
	}
	defer cli.CleanUp(ctx, c.Frame, "leave the rollout", m.Leave)
	c.Note("%s follows %s in %s", cli.Safe(c.instance.Name), cli.Safe(c.Name), cli.Safe(c.instance.Location))
	for t, err := range m.Targets(ctx) {
		if err == nil {
			err = c.apply(ctx, m, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// apply runs the command for a target, and reports the result.
func (c *followCommand) apply(ctx context.Context, m *rollout.Member, t *rollout.Target) error {
	report := func(send func(context.Context) error) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
		defer cancel()
		if err := send(within); err != nil && t.Context().Err() == nil {
			c.Note("report: %s", cli.Explain(err)) // the member keeps trying
		}
	}
	version := cli.Safe(versionText(t.Seq, t.Label))
	report(func(ctx context.Context) error { return m.Updating(ctx, t) })
	variables := targetVariables(c.instance.Location, t.Seq, t.Label)
	variables[instanceVariable], variables[attemptVariable] = c.instance.Name, strconv.Itoa(t.Attempt)
	variables[generationVariable] = fmt.Sprint(t.Generation)
	out, err := c.Run(t.Context(), t.Payload, c.Out, variables)
	switch {
	case errors.Is(err, runner.ErrStopping), c.Stopping() && out.Status != 0:
		return nil // the version is not to blame
	case err != nil:
		return err
	case out.Lost != nil:
		c.Note("version %s is no longer the target", version)
		return nil
	case out.Status == 0:
		report(func(ctx context.Context) error { return m.Reached(ctx, t) })
		c.Note("version %s is in use", version)
		return nil
	}
	code := ""
	if out.Status != runner.ExitAgain {
		code = fmt.Sprintf("exit-%d", out.Status)
	}
	report(func(ctx context.Context) error { return m.Failed(ctx, t, code, out.Err()) })
	c.Note("version %s is not in use, after attempt %d: %v", version, t.Attempt, out.Err())
	return nil
}
