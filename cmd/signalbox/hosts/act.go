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
	// within is the time limit for the whole action, including the wait; 0 means the limits from --timeout and
	// --wait.
	within time.Duration
	// done is the word for the change, and waited the state for --wait, 0 for none. An action that takes time is done
	// when the host has reached the state.
	done      string
	waited    admin.State
	takesTime bool
}

// add adds the flags, and --wait if the action leads to a state.
func (a *hostAct) add(c *cobra.Command) *cobra.Command {
	a.flags.Add(c, "history")
	if a.waited != 0 {
		c.Flags().BoolVar(&a.wait, "wait", false,
			"Wait until the host is "+a.waited.String()+", and report progress. --timeout does not apply")
	}
	return c
}

// run performs an action.
func (a *hostAct) run(c *cobra.Command, host string, act actOfHost) error {
	if within := c.Flag("wait-timeout"); within != nil && within.Changed {
		if a.within <= 0 {
			return cli.Misuse(c, "--wait-timeout %v is invalid; give a duration above 0", a.within)
		}
		a.wait = true
		bounded, cancel := context.WithTimeoutCause(c.Context(), a.within, cli.Errorf(cli.ExitUnavailable,
			"host %s is not %s after %v; the operation continues", cli.Safe(host), a.done, a.within))
		defer cancel()
		c.SetContext(bounded)
	}
	return a.Stay(c, func(ctx context.Context, k *cli.Connection, box *client.Client) error {
		within, cancel := k.Within(ctx)
		defer cancel()
		on := admin.New(box)
		var id uint64
		if a.wait { // by id, because a new host may have the name by then
			h, err := findHost(within, on, host)
			if err != nil {
				return cli.EndedBy(within, err)
			}
			id = h.ID
		}
		changed, err := act(on, within, host, admin.ChangeInfo(a.flags.By(a.Frame)))
		if err != nil {
			return cli.EndedBy(within, err)
		}
		if a.wait {
			if err := a.await(ctx, on, id); err != nil {
				return err
			}
		} else if a.takesTime && !a.isDone(within, on, host) {
			return a.Done(changed, "host %s is being %s; signalbox host list shows when the host is %v; use "+
				"--wait to wait", cli.Safe(host), a.done, a.waited)
		}
		return a.ReportAct("host "+host, a.done, changed, nil)
	})
}

// isDone reports whether the host is known to have reached the state.
func (a *hostAct) isDone(ctx context.Context, on *admin.Admin, host string) bool {
	h, err := findHost(ctx, on, host)
	return err == nil && a.reached(h)
}

// reached reports whether a host has reached the state.
func (a *hostAct) reached(h *admin.Host) bool { return h.Current.State == a.waited && h.AtTarget() }

// await waits until the host has reached the state, and prints the awaited condition whenever it changes.
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
			return cli.Errorf(cli.ExitState, "the target of host %s is no longer %v, but %v: %s", h.Name, a.waited,
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

// actOfHost is an action with a host, an author and a reason.
type actOfHost = func(on *admin.Admin, ctx context.Context, host string, by admin.ChangeInfo) (changed bool, err error)

// simpleAct returns a command for an action.
func simpleAct(f *cli.Frame, use string, c *cobra.Command, a *hostAct, act actOfHost) *cobra.Command {
	a.Frame = f
	c.Use = use + " HOST"
	c.RunE = func(c *cobra.Command, args []string) error { return a.run(c, args[0], act) }
	return a.add(c)
}

func newHostDrain(f *cli.Frame) *cobra.Command {
	a := &hostAct{done: "drained", waited: admin.Offline, takesTime: true}
	c := simpleAct(f, "drain", &cobra.Command{
		Short: "Drain a host before it is stopped",
		Long: `Sets the target of a host to OFFLINE: the host hands over its leaderships, and its votes
if other hosts can take them. After the drain the host can be stopped without an
election. When the host starts again its target is ONLINE again.

A drain that would cost a shard its quorum is refused with the name of the shard.
SIGTERM does the same as a drain, but for at most three seconds, and is never refused.

--wait waits until the host is drained. --wait-timeout bounds the wait, including the
time to connect: if the host is not drained by then the exit code is 69, and the drain
continues.

Without HOST, the command drains the host named by SIGNALBOX_NAME, as for signalbox
serve. A container's pre-stop hook needs no other argument.`,
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
			return cli.Misuse(c, "HOST is missing, and "+nameVariable+" is not set")
		}
		return named(c, args)
	}
	return c
}

// nameVariable is the variable from which signalbox serve reads the host name.
const nameVariable = "SIGNALBOX_NAME"

func newHostUndrain(f *cli.Frame) *cobra.Command {
	return simpleAct(f, "undrain", &cobra.Command{
		Short:   "Cancel a drain",
		Long:    "Sets the target of a drained host that was not stopped back to ONLINE.",
		Example: "  signalbox host undrain b --wait",
	}, &hostAct{done: "undrained", waited: admin.Online}, (*admin.Admin).Undrain)
}

func newHostExpel(f *cli.Frame) *cobra.Command {
	var force bool
	c := simpleAct(f, "expel", &cobra.Command{
		Short: "Decommission a host",
		Long: `Removes all replicas from a host, and gives the host the state EXPELLED, which is final:
a host with this data directory can never join again. The host name becomes free.

Drain an online host first, or pass --force. The command refuses to expel the last host,
and a host whose loss would cost a shard its quorum. Expelling a host twice is not an
error. Keep the process running until the host is EXPELLED (--wait): until then the
host's vote may be needed, for example to remove itself.`,
		Example: `  signalbox host drain d --wait && signalbox host expel d --wait --yes

  # a machine that is gone and has no successor
  signalbox host expel b --yes`,
	}, &hostAct{done: "expelled", waited: admin.Expelled, takesTime: true},
		func(on *admin.Admin, ctx context.Context, host string, by admin.ChangeInfo) (bool, error) {
			return on.Expel(ctx, host, force, by)
		})
	confirmed := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		describe := func(ctx context.Context, box *client.Client) (string, error) {
			h, err := findHost(ctx, admin.New(box), args[0])
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("this expels host %s, which is %v, from the cluster permanently", h.Name,
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
