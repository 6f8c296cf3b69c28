package hosts

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// hostAct is a command that changes a single host.
type hostAct struct {
	*cli.Frame
	flags cli.ActFlags
	wait  bool
	// within bounds all of the act, with the waiting; 0 for the bounds of --timeout and --wait.
	within time.Duration
	// done is the word for the change, and waited the state for --wait, 0 for none. An act that takes time is done when
	// the host has the state.
	done      string
	waited    admin.State
	takesTime bool
}

// add adds the flags, and --wait where the act leads to a state.
func (a *hostAct) add(c *cobra.Command) *cobra.Command {
	a.flags.Add(c, "history")
	if a.waited != 0 {
		c.Flags().BoolVar(&a.wait, "wait", false,
			"Wait until the host is "+a.waited.String()+", and report progress. --timeout does not apply")
	}
	return c
}

// run carries an act out.
func (a *hostAct) run(c *cobra.Command, host string, act actOfHost) error {
	if within := c.Flag("wait-timeout"); within != nil && within.Changed {
		if a.within <= 0 {
			return cli.Misuse(c, "--wait-timeout %v is no time to wait: give a duration above 0", a.within)
		}
		a.wait = true
		bounded, cancel := context.WithTimeoutCause(c.Context(), a.within, cli.Errorf(cli.ExitUnavailable,
			"host %s is not %s after %v; what has begun goes on", cli.Safe(host), a.done, a.within))
		defer cancel()
		c.SetContext(bounded)
	}
	return a.Stay(c, func(ctx context.Context, k *cli.Connection, box *client.Client) error {
		within, cancel := k.Within(ctx)
		defer cancel()
		on := admin.Of(box)
		var id uint64
		if a.wait { // by its id, since a new host may have the name by then
			h, err := findHost(within, on, host)
			if err != nil {
				return cli.EndedBy(within, err)
			}
			id = h.ID
		}
		changed, err := act(on, within, host, admin.By(a.flags.By(a.Frame)))
		if err != nil {
			return cli.EndedBy(within, err)
		}
		if a.wait {
			if err := a.await(ctx, on, id); err != nil {
				return err
			}
		} else if a.takesTime && !a.isDone(within, on, host) {
			return a.Done(changed, "host %s is being %s: signalbox host list shows when it is %v, and --wait waits "+
				"for that", cli.Safe(host), a.done, a.waited)
		}
		return a.ReportAct("host "+host, a.done, changed, nil)
	})
}

// isDone reports whether the host is known to have come to the state.
func (a *hostAct) isDone(ctx context.Context, on *admin.Admin, host string) bool {
	h, err := findHost(ctx, on, host)
	return err == nil && a.reached(h)
}

// reached reports whether a host has come to the state.
func (a *hostAct) reached(h *admin.Host) bool { return h.Current.State == a.waited && h.AtTarget() }

// await waits until the host has come to the state, and says what is waited for whenever that changes.
func (a *hostAct) await(ctx context.Context, on *admin.Admin, id uint64) error {
	w := &waiting{frame: a.Frame, on: on}
	for {
		cluster, err := on.Describe(ctx)
		if err != nil {
			return err
		}
		h := cluster.Host(id)
		if h == nil || a.reached(h) {
			return nil
		}
		if h.Target.State != a.waited {
			return cli.Errorf(cli.ExitState, "host %s is not to be %v any more, but %v: %s", h.Name, a.waited,
				h.Target.State, h.Target.Reason)
		}
		why, err := w.look(ctx)
		if err != nil {
			return err
		}
		if why != nil {
			w.say(why)
		}
		if !cli.SleepFor(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
}

// actOfHost is an act with a host, an author and a reason.
type actOfHost = func(on *admin.Admin, ctx context.Context, host string, by admin.By) (changed bool, err error)

// simpleAct makes a command of an act.
func simpleAct(f *cli.Frame, use string, c *cobra.Command, a *hostAct, act actOfHost) *cobra.Command {
	a.Frame = f
	c.Use = use + " HOST"
	c.RunE = func(c *cobra.Command, args []string) error { return a.run(c, args[0], act) }
	return a.add(c)
}

func newHostDrain(f *cli.Frame) *cobra.Command {
	a := &hostAct{done: "drained", waited: admin.Offline, takesTime: true}
	c := simpleAct(f, "drain", &cobra.Command{
		Short: "Have a host hand over all it does, before it is stopped",
		Long: `Gives a host the target OFFLINE: it hands over the leaderships that it has, and its
votes where another host can have them. Then it can be stopped, and no client waits
for an election. When it is started again it is ONLINE again.

A drain that would cost a shard its majority is refused, and says which. SIGTERM does
the same as a drain, but for three seconds at the most, and is never refused.

--wait waits for as long as it takes. --wait-timeout waits too, and bounds all of it,
the connecting as well: what stops the host then need not wait longer. It ends with 69
where the host is not drained by then, and the drain goes on.

Without HOST it is the one that SIGNALBOX_NAME names, as for signalbox serve: a hook
that runs before a container is stopped need not know more.`,
		Example: `  signalbox host drain b --wait --reason "a new disk"

  # before something else stops the host, in half a minute
  signalbox host drain b --wait-timeout 25s`,
	}, a, (*admin.Admin).Drain)
	c.Flags().DurationVar(&a.within, "wait-timeout", 0,
		"Wait as with --wait, for at most this `DURATION`, such as 25s")
	named := c.RunE
	c.Use = "drain [HOST]"
	c.RunE = func(c *cobra.Command, args []string) error {
		if own := f.Variable(nameVariable); len(args) == 0 && own != "" {
			args = []string{own}
		}
		if len(args) == 0 {
			return cli.Misuse(c, "HOST is missing, and "+nameVariable+" names none")
		}
		return named(c, args)
	}
	return c
}

// nameVariable is the variable in which signalbox serve finds the name of a host.
const nameVariable = "SIGNALBOX_NAME"

func newHostUndrain(f *cli.Frame) *cobra.Command {
	return simpleAct(f, "undrain", &cobra.Command{
		Short:   "Take a drain back",
		Long:    "Gives a host that was drained, and was not stopped since, the target ONLINE again.",
		Example: "  signalbox host undrain b --wait",
	}, &hostAct{done: "undrained", waited: admin.Online}, (*admin.Admin).Undrain)
}

func newHostExpel(f *cli.Frame) *cobra.Command {
	var force bool
	c := simpleAct(f, "expel", &cobra.Command{
		Short: "Have a host leave the cluster for ever",
		Long: `Removes the replicas of a host everywhere, and gives it the state EXPELLED, which is
final: with its data directory it is never let in again. Its name can be another
host's then.

A host that is online is to be drained first; --force does without. Refused are the
last host, and what would cost a shard its majority. Expelling a host twice is no
error. Leave its process running until it is EXPELLED, which --wait waits for: until
then its vote may be needed, to remove it among others.`,
		Example: `  signalbox host drain d --wait && signalbox host expel d --wait --yes

  # a machine that is gone and has no successor
  signalbox host expel b --yes`,
	}, &hostAct{done: "expelled", waited: admin.Expelled, takesTime: true},
		func(on *admin.Admin, ctx context.Context, host string, by admin.By) (bool, error) {
			return on.Expel(ctx, host, force, by)
		})
	confirmed := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		describe := func(ctx context.Context, box *client.Client) (string, error) {
			h, err := findHost(ctx, admin.Of(box), args[0])
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("this makes host %s, which is %v, leave the cluster for ever", h.Name,
				h.Current.State), nil
		}
		if err := f.Confirmed(c, describe); err != nil {
			return err
		}
		return confirmed(c, args)
	}
	c.Flags().BoolVar(&force, "force", false, "Expel the host even if it is online")
	cli.AddYes(c)
	return c
}
