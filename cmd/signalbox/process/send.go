package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// toAll means all members except the sender.
const toAll = "all"

// sendCommand is one run of process send.
type sendCommand struct {
	*cli.Frame
	session cli.SessionFlags
	member  string
	to      []string
	wait    time.Duration

	name    string
	payload []byte
}

func newSend(f *cli.Frame) *cobra.Command {
	w := &sendCommand{Frame: f}
	c := &cobra.Command{
		Use:   "send PATH NAME DATA",
		Short: "Send a request to members, and print their replies",
		Long: `Sends a request to the members of a process, and prints each reply as a line, in order
of arrival. The command joins as an observer, waits for an epoch that includes it, and
leaves at the end. Joining and leaving each open an epoch: the current round starts
over, with cancel and prepare, twice.

Exit codes: 1 a member replied with a failure; 75 some members have not replied within
--wait, and are listed; 79 another epoch opened meanwhile. A request is never sent
twice.

` + cli.DataHelp,
		Example: `  signalbox process send /prod counter value
  signalbox process send /prod counter reload --to a.example,b.example --wait 30s

  # who did not do it?
  signalbox process send /prod counter reload -o json | jq 'select(.failed) | .name'`,
		RunE: func(c *cobra.Command, args []string) error {
			if w.wait <= 0 {
				return cli.Misuse(c, "--wait must be above zero, but is %v", w.wait)
			}
			var err error
			if w.payload, err = f.Data(args[2]); err != nil {
				return err
			}
			w.member = cmp.Or(w.member, cli.UserAtMachine(f))
			w.name = args[1]
			return w.session.Stay(f, c, args, w.send)
		},
	}
	c.Flags().StringSliceVar(&w.to, "to", []string{toAll}, "Recipients, `MEMBERS` by name or id, or all. May be "+
		"repeated")
	c.Flags().DurationVar(&w.wait, "wait", 10*time.Second, "Maximum time to wait for an epoch, and for the replies, "+
		"`DURATION`")
	c.Flags().StringVar(&w.member, "name", "", "Sender `NAME` shown to recipients. Default: USER@MACHINE")
	w.session.Add(c)
	return c
}

// send joins, sends the request and prints the replies.
func (se *sendCommand) send(ctx context.Context, _ *cli.Connection, s *client.Session) error {
	within, cancel := context.WithTimeoutCause(ctx, se.wait, cli.Errorf(cli.ExitNotAcquired,
		"no round with all members prepared within %v; signalbox process why gives the reason", se.wait))
	defer cancel()
	m, err := process.Join(within, s, se.name, process.Handler{}, process.WithName(se.member), process.Observer(),
		process.Existing(), process.Encoding(process.Raw))
	if err != nil {
		return cli.EndedBy(within, err)
	}
	defer cli.CleanUp(ctx, se.Frame, "leave the process", m.Leave)
	for {
		r, err := m.Round(within)
		if err != nil {
			return cli.EndedBy(within, err)
		}
		if again, err := se.sendIn(within, r); !again {
			return cli.EndedBy(within, err)
		}
	}
}

// sendIn sends the request in a round, and prints the replies. again reports that the round ended before that, and no
// member has received the request.
func (s *sendCommand) sendIn(ctx context.Context, r *process.Round) (again bool, err error) {
	peers, err := r.Members(ctx)
	if errors.Is(err, process.ErrCancelled) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	end, _ := ctx.Deadline()
	options := []process.SendOption{process.Timeout(max(time.Until(end), time.Millisecond))}
	if len(s.to) == 1 && s.to[0] == toAll {
		options = append(options, process.Others())
	} else {
		ids, err := receivers(peers, s.to)
		if err != nil {
			return false, err
		}
		options = append(options, process.To(ids...))
	}
	x, err := r.Start(ctx, s.payload, options...)
	if errors.Is(err, process.ErrCancelled) || errors.Is(err, client.ErrFenced) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	// When the time is over, the leader sends the replies received so far.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Until(end)+cli.CleanUpTime)
	defer cancel()
	replies, err := x.Wait(waiting)
	return false, errors.Join(s.print(peers, replies), s.explain(peers, err))
}

// receivers returns the member ids to which a request is addressed.
func receivers(peers []*process.Peer, to []string) (ids []uint64, err error) {
	for _, text := range to {
		id := uint64(0)
		for _, peer := range peers {
			if peer.Name == text || strconv.FormatUint(peer.ID, 10) == text {
				id = peer.ID
				ids = append(ids, id)
			}
		}
		if id == 0 {
			return nil, cli.Errorf(cli.ExitNotFound, "member %s does not exist; signalbox process members lists "+
				"the members", cli.Safe(text))
		}
	}
	return ids, nil
}

// MemberReply is a member's reply; a failure's data contains the reason.
type MemberReply struct {
	From   uint64
	Name   string
	Failed bool
	Data   []byte
}

// print prints replies.
func (s *sendCommand) print(peers []*process.Peer, replies process.Replies) error {
	rows := s.Rows("MEMBER", "+ID#", "REPLY")
	for _, reply := range replies {
		o := MemberReply{From: reply.From, Name: peerName(peers, reply.From), Data: reply.Bytes()}
		shown := any(o.Data)
		if failure, ok := errors.AsType[*process.ReplyError](reply.Err); ok {
			o.Failed, o.Data, shown = true, []byte(failure.Text), "failed: "+failure.Text
		}
		rows.Add(o, o.Name, o.From, shown)
	}
	if len(replies) == 0 {
		return nil
	}
	return rows.End()
}

// explain attaches exit codes to the errors of an exchange without all replies.
func (s *sendCommand) explain(peers []*process.Peer, err error) error {
	late, isLate := errors.AsType[*process.ReplyTimeoutError](err)
	failed, isFailed := errors.AsType[*process.MemberFailedError](err)
	cancelled, isCancelled := errors.AsType[*process.CancelledError](err)
	switch {
	case isLate:
		names := cli.Map(late.Missed, func(id uint64) string { return cli.Safe(peerName(peers, id)) })
		if more := late.Missing - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return cli.Errorf(cli.ExitNotAcquired, "%s did not reply within %v", strings.Join(names, ", "), s.wait)
	case isFailed:
		return cli.Errorf(cli.ExitFailed, "%d of %s failed", len(failed.Replies.Failures()),
			operation.Plural(len(failed.Replies), "member"))
	case isCancelled:
		return cli.Errorf(cli.ExitState, "epoch %d ended before all members had replied", cancelled.Epoch)
	}
	return err
}

// peerName returns a round member's name, or a departed member's id.
func peerName(peers []*process.Peer, id uint64) string {
	for _, peer := range peers {
		if peer.ID == id {
			return peer.Name
		}
	}
	return strconv.FormatUint(id, 10)
}
