package process

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newEvict(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "evict PATH NAME MEMBER",
		Short: "Evict a member, which opens a new epoch",
		Long: `Evicts a member, given by its id (signalbox process members) or by a unique name. If the
member takes part in the current round, the round ends and a new epoch opens without the
member. The session may join again; to prevent that, end the session with signalbox
session end.`,
		Example: `  signalbox process evict /prod counter a.example --reason 'it hangs'
  signalbox process evict /prod counter 17`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			p := process.New(box, args[0], args[1])
			m, err := findMember(ctx, p, args[2])
			if err == nil {
				err = p.Evict(ctx, m.ID, process.ChangeInfo(flags.By(f)))
			}
			if err != nil {
				return err
			}
			return f.Done(true, "%s (%d) is evicted from process %s", cli.Safe(m.Name), m.ID, cli.Safe(args[1]))
		}),
	}
	flags.Add(c, "process")
	return c
}

// findMember finds the member with the id, or else the only member with the name.
func findMember(ctx context.Context, p *process.Process, text string) (*process.MemberState, error) {
	members, err := p.Members(ctx)
	if err != nil {
		return nil, err
	}
	id, _ := strconv.ParseUint(text, 10, 64) // 0 for a text that is not a number; no member has id 0
	var named []*process.MemberState
	for i := range members {
		m := &members[i]
		switch {
		case m.ID == id:
			return m, nil
		case m.Name == text:
			named = append(named, m)
		}
	}
	switch len(named) {
	case 0:
		return nil, cli.Errorf(cli.ExitNotFound, "member %s does not exist; signalbox process members lists the "+
			"members", cli.Safe(text))
	case 1:
		return named[0], nil
	}
	ids := cli.Map(named, func(m *process.MemberState) string { return strconv.FormatUint(m.ID, 10) })
	return nil, cli.ExitWith(cli.ExitUsage, fmt.Errorf("several members have the name %s; give an id: %s",
		cli.Safe(text), strings.Join(ids, " or ")))
}
