package process

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// timeouts maps words to actions for members that do not answer in time.
var timeouts = map[string]process.OnTimeout{
	process.TimeoutWait.String(): process.TimeoutWait, process.TimeoutEvict.String(): process.TimeoutEvict,
	process.TimeoutFail.String(): process.TimeoutFail,
}

// processFlags are the flags for a process spec.
type processFlags struct {
	spec      process.Spec
	onTimeout string
	act       cli.ActFlags
}

// add adds the flags, with the defaults that the help shows.
func (p *processFlags) add(c *cobra.Command, otherwise process.Spec) {
	p.spec, p.onTimeout = otherwise, otherwise.OnTimeout.String()
	p.bind(c.Flags())
	p.act.Add(c, "process")
	_ = c.RegisterFlagCompletionFunc("on-timeout",
		cobra.FixedCompletions(slices.Sorted(maps.Keys(timeouts)), cobra.ShellCompDirectiveNoFileComp))
}

// bind binds flags to the spec's fields.
func (p *processFlags) bind(fs *pflag.FlagSet) {
	s := &p.spec
	fs.DurationVar(&s.OpenDelay, "open-delay", s.OpenDelay, "Time without membership changes before the next "+
		"epoch opens, `DURATION`")
	fs.DurationVar(&s.MaxOpenDelay, "max-open-delay", s.MaxOpenDelay, "Maximum delay before the next epoch opens, "+
		"`DURATION`")
	fs.IntVar(&s.MinMembers, "min-members", s.MinMembers, "Minimum members per epoch, `NUMBER`")
	fs.DurationVar(&s.ReplyTimeout, "reply-timeout", s.ReplyTimeout, "Maximum time for a member to prepare, and to "+
		"reply, `DURATION`. 0s waits forever")
	fs.StringVar(&p.onTimeout, "on-timeout", p.onTimeout, "`ACTION` after the reply timeout: keep waiting and "+
		"report the member, evict the member, or fail the exchange")
	fs.IntVar(&s.MaxPayload, "max-payload-bytes", s.MaxPayload, "Maximum bytes per request, reply or result: "+
		"`NUMBER` up to 65536")
	fs.IntVar(&s.KeepResults, "keep-results", s.KeepResults, "Results to keep, `NUMBER`")
}

// apply changes a spec according to the given flags.
func (p *processFlags) apply(c *cobra.Command, spec *process.Spec) error {
	given := processFlags{spec: *spec, onTimeout: spec.OnTimeout.String()}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	given.bind(set)
	if err := cli.CopyGiven(c.Flags(), set); err != nil {
		return err
	}
	on, ok := timeouts[given.onTimeout]
	if !ok {
		return cli.Misuse(c, "--on-timeout %s is invalid; must be %s", cli.Safe(given.onTimeout),
			strings.Join(slices.Sorted(maps.Keys(timeouts)), ", "))
	}
	*spec = given.spec
	spec.OnTimeout = on
	return nil
}
