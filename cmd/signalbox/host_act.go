package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// hostAct is a command that does something with one host.
type hostAct struct {
	*cli.Frame
	flags actFlags
	wait  bool
	// done says what was done, and waited which state is waited for with --wait, 0 for none.
	done   string
	waited admin.State
}

// add adds the flags, and --wait where there is something to wait for.
func (a *hostAct) add(c *cobra.Command) *cobra.Command {
	a.flags.add(c, "history")
	if a.waited != 0 {
		c.Flags().BoolVar(&a.wait, "wait", false,
			"wait until it is "+a.waited.String()+", and say what that waits for; --timeout does not bound it")
	}
	return c
}

// run carries an act out.
func (a *hostAct) run(c *cobra.Command, host string,
	act func(ctx context.Context, on *admin.Admin, by admin.By) (changed bool, err error),
) error {
	return a.Stay(c, func(ctx context.Context, k *cli.Connection, box *client.Client) error {
		within, cancel, err := k.Within(ctx)
		if err != nil {
			return err
		}
		defer cancel()
		on := admin.Of(box)
		var id uint64
		if a.wait { // by its id: its name may be another host's by then
			cluster, err := on.Describe(within)
			if err != nil {
				return cli.EndedBy(within, err)
			}
			h, err := memberOf(cluster, host)
			if err != nil {
				return err
			}
			id = h.ID
		}
		changed, err := act(within, on, admin.By(a.flags.by(a.Frame)))
		if err != nil {
			return cli.EndedBy(within, err)
		}
		if a.wait {
			if err := a.await(ctx, on, id); err != nil {
				return err
			}
		}
		reportAct(a.Frame, "host "+host, a.done, changed)
		return nil
	})
}

// reportAct says what became of an act.
func reportAct(f *cli.Frame, subject, done string, changed bool) {
	if !changed {
		f.Say("%s was %s already", cli.Safe(subject), done)
		return
	}
	f.Say("%s is %s", cli.Safe(subject), done)
}

// waitEvery is how often it is looked whether a host has come to its target.
const waitEvery = 300 * time.Millisecond

// await waits until the host has come to the state, and says what is waited for whenever that changes.
func (a *hostAct) await(ctx context.Context, on *admin.Admin, id uint64) error {
	said := ""
	for {
		cluster, err := on.Describe(ctx)
		if err != nil {
			return err
		}
		h := cluster.Host(id)
		if h == nil || h.Current.State == a.waited && h.AtTarget() {
			return nil
		}
		if h.Target.State != a.waited {
			return cli.Errorf(cli.ExitState, "host %s is not to be %v any more, but %v: %s", h.Name, a.waited,
				h.Target.State, h.Target.Reason)
		}
		why, err := on.Why(ctx)
		if err != nil {
			return err
		}
		if text := waitsFor(why); text != said && text != "" {
			a.Say("%s", text)
			said = text
		}
		if !sleepFor(ctx, waitEvery) {
			return context.Cause(ctx)
		}
	}
}

// waitsFor is the first thing that the governor does, or waits for.
func waitsFor(why *admin.Why) string {
	switch {
	case len(why.Steps) > 0:
		s := &why.Steps[0]
		if s.LastError != "" {
			return s.Text + ": " + s.LastError
		}
		return s.Text
	case len(why.Reasons) > 0:
		return why.Reasons[0].Text
	}
	return ""
}

// simpleAct is an act with nothing but a host, who does it, and why.
func simpleAct(f *cli.Frame, use string, c *cobra.Command, a *hostAct,
	act func(on *admin.Admin, ctx context.Context, host string, by admin.By) (bool, error),
) *cobra.Command {
	a.Frame = f
	c.Use, c.Args, c.ValidArgsFunction = use+" HOST", cli.Arguments("HOST"), f.Complete(completeHosts(f))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.run(c, args[0], func(ctx context.Context, on *admin.Admin, by admin.By) (bool, error) {
			return act(on, ctx, args[0], by)
		})
	}
	return a.add(c)
}

func newHostDrain(f *cli.Frame) *cobra.Command {
	c := simpleAct(f, "drain", &cobra.Command{
		Short: "Have a host hand over all it does, before it is stopped",
		Long: `Gives a host the target OFFLINE: it hands over the leaderships that it has, and its
votes where another host can have them. Then it can be stopped, and no client waits
for an election. When it is started again it is ONLINE again.

A drain that would cost a shard its majority is refused, and says which. SIGTERM does
the same as a drain, but for three seconds at the most, and is never refused.

Without HOST it is the one that SIGNALBOX_NAME names, as for signalbox serve: a hook
that runs before a container is stopped need not know more.`,
		Example: `  signalbox host drain b --wait --reason "a new disk"
  systemctl restart signalbox`,
	}, &hostAct{done: "drained", waited: admin.Offline}, (*admin.Admin).Drain)
	named := c.RunE
	c.Use, c.Args = "drain [HOST]", cli.Arguments("[HOST]")
	c.RunE = func(c *cobra.Command, args []string) error {
		if own := f.Variable(nameVariable); len(args) == 0 && own != "" {
			args = []string{own}
		}
		if len(args) == 0 {
			return misuse(c, "HOST is missing, and "+nameVariable+" names none")
		}
		return named(c, args)
	}
	return c
}

// nameVariable is where signalbox serve finds the name of its host.
const nameVariable = "SIGNALBOX_NAME"

func newHostUndrain(f *cli.Frame) *cobra.Command {
	return simpleAct(f, "undrain", &cobra.Command{
		Short:   "Take a drain back",
		Long:    "Gives a host that was drained, and was not stopped since, the target ONLINE again.",
		Example: "  signalbox host undrain b --wait",
	}, &hostAct{done: "undrained", waited: admin.Online}, (*admin.Admin).Undrain)
}

func newHostCordon(f *cli.Frame) *cobra.Command {
	return simpleAct(f, "cordon", &cobra.Command{
		Short: "Give a host no more than it has",
		Long: `Has the governor give a host no more replicas, votes and leaderships than it has. What
it has it keeps.`,
		Example: `  signalbox host cordon b --reason "its disk is slow"`,
	}, &hostAct{done: "cordoned"}, (*admin.Admin).Cordon)
}

func newHostUncordon(f *cli.Frame) *cobra.Command {
	return simpleAct(f, "uncordon", &cobra.Command{
		Short:   "Take a cordon back",
		Long:    "Has the governor treat a host that was cordoned like any other.",
		Example: "  signalbox host uncordon b",
	}, &hostAct{done: "uncordoned"}, (*admin.Admin).Uncordon)
}

func newHostExpel(f *cli.Frame) *cobra.Command {
	a := &hostAct{Frame: f, done: "expelled", waited: admin.Expelled}
	var force bool
	c := &cobra.Command{
		Use:   "expel HOST",
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
		Args:              cli.Arguments("HOST"),
		ValidArgsFunction: f.Complete(completeHosts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			describe := func(ctx context.Context, box *client.Client) (string, error) {
				cluster, err := admin.Of(box).Describe(ctx)
				if err != nil {
					return "", err
				}
				h, err := memberOf(cluster, args[0])
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("this makes host %s, which is %v, leave the cluster for ever", h.Name,
					h.Current.State), nil
			}
			if err := f.Confirmed(c, describe); err != nil {
				return err
			}
			return a.run(c, args[0], func(ctx context.Context, on *admin.Admin, by admin.By) (bool, error) {
				return on.Expel(ctx, args[0], force, by)
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "expel it though it is online")
	cli.AddYes(c)
	return a.add(c)
}

func newHostReplace(f *cli.Frame) *cobra.Command {
	a := &hostAct{Frame: f, done: "replaced"}
	return a.add(&cobra.Command{
		Use:   "replace OLD NEW",
		Short: "Let a host take the place of one that is gone",
		Long: `Expels the host OLD, which is gone, and has NEW take its place. NEW is a host of the
cluster already. It is refused while OLD is heard.

A host whose disk was lost is replaced by one with an empty data directory that names
it when it joins: signalbox serve --join HOST:PORT --name b --replace b.`,
		Example:           "  signalbox host replace b d",
		Args:              cli.Arguments("OLD", "NEW"),
		ValidArgsFunction: f.Complete(completeHosts(f), completeHosts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c, args[0], func(ctx context.Context, on *admin.Admin, by admin.By) (bool, error) {
				return on.Replace(ctx, args[0], args[1], by)
			})
		},
	})
}

func newHostAlter(f *cli.Frame) *cobra.Command {
	a := &hostAct{Frame: f, done: "altered"}
	var domain string
	c := &cobra.Command{
		Use:   "alter HOST --domain KEY=VALUE,...",
		Short: "Give a host another failure domain",
		Long: `Says where a host stands: labels by key, such as dc=a,rack=1. What fails together
shares a value. The governor spreads the voters of each shard over them. A host must
have every key that another one has.`,
		Example:           "  signalbox host alter b --domain dc=a,rack=1",
		Args:              cli.Arguments("HOST"),
		ValidArgsFunction: f.Complete(completeHosts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("domain") {
				return misuse(c, "--domain is missing")
			}
			return a.run(c, args[0], func(ctx context.Context, on *admin.Admin, by admin.By) (bool, error) {
				return on.Alter(ctx, args[0], domain, by)
			})
		},
	}
	c.Flags().StringVar(&domain, "domain", "", "the failure `DOMAIN`, KEY=VALUE with commas between; empty for none")
	return a.add(c)
}
