package semaphore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// sessionCommands returns the commands for sessions.
func sessionCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "session",
		Short: "Sessions: list, show, end",
		Long: `A session is a client's lease in one node. The session lives while the client sends
heartbeats, and for the session timeout after the last heartbeat. When the session ends,
all its holdings are released.`,
	}, newSessionShow(f), newSessionEnd(f)))
}

// heldSession is a session with its holdings and its node's path. The path is empty if the caller may not list the
// node.
type heldSession struct {
	Node string
	operation.HeldSession
}

func newSessionShow(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session and its holdings",
		Long: `Shows a session by its id: age, client address, and the semaphores that the session owns
or waits for, with times. The order id of an owned semaphore is its fencing token.`,
		Example: `  signalbox session show 13245086504096628737
  signalbox session show 13245086504096628737 -o json | jq -r '.holdings[].name'`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := sessionID(args[0])
			if err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				d, err := describeSession(ctx, box, id)
				if err != nil {
					return err
				}
				return printSession(f, d)
			})
		},
	}
}

func printSession(f *cli.Frame, d *heldSession) error {
	fields := cli.Fields("session", d.ID, "node", d.Node, "node id", d.NodeID, "description", d.Description,
		"attached", d.Attached, "timeout", d.Timeout, "owns", d.Owned, "waits for", d.Waiting, "since", d.Since,
		"from", d.Client.Address, "client", operation.ClientText(d.Client))
	rows := cli.Map(d.Holdings, func(h *client.Holding) []any {
		return []any{h.Name, h.Kind, h.Role, h.OrderID, cli.Amount(h.Count), h.Since}
	})
	return f.Show(d, fields,
		cli.Section("Holdings:", []string{"NAME", "KIND", "ROLE", "ORDER#", "COUNT#", "SINCE"}, rows))
}

// describeSession describes a session with its holdings.
func describeSession(ctx context.Context, box *client.Client, id uint64) (*heldSession, error) {
	s, err := box.DescribeSession(ctx, id)
	if errors.Is(err, client.ErrSessionExpired) {
		return nil, cli.Errorf(cli.ExitNotFound, "session %d does not exist or has ended; signalbox session list "+
			"PATH lists the sessions in a node", id)
	}
	if err != nil {
		return nil, err
	}
	d := &heldSession{Node: nodePath(ctx, box, s.NodeID), HeldSession: operation.HeldSession{SessionInfo: *s}}
	for h, err := range box.Holdings(ctx, id) {
		if err != nil {
			return nil, err
		}
		d.Holdings = append(d.Holdings, h)
	}
	return d, nil
}

// nodePath returns a node's path, empty for a node the caller may not list.
func nodePath(ctx context.Context, box *client.Client, id uint64) string {
	for n, err := range box.ListNodes(ctx, "") {
		if err != nil {
			break
		}
		if n.ID == id {
			return n.Path
		}
	}
	return ""
}

func newSessionEnd(f *cli.Frame) *cobra.Command {
	c := &cobra.Command{
		Use:   "end SESSION",
		Short: "End a session",
		Long: `Ends the session of any client. Its holdings go to the waiters, and the client is
notified. Use this command if a client holds a lock by mistake and waiting for the
session timeout would take too long. A client that recreates its session starts again at
the end of every queue.

The command prints the holdings of the session, and asks for confirmation unless --yes
is given.`,
		Example: `  signalbox session end 13245086504096628737

  # in a script
  signalbox session end 13245086504096628737 --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := sessionID(args[0])
			if err != nil {
				return err
			}
			describe := func(ctx context.Context, box *client.Client) (string, error) {
				d, err := describeSession(ctx, box, id)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("this ends session %d%s, which %s", id, described(d.Description),
					holdingWords(d.Holdings)), nil
			}
			return f.AskConfirmed(c, describe, func(ctx context.Context, box *client.Client) error {
				if _, err := describeSession(ctx, box, id); err != nil {
					return err
				}
				if err := box.DestroySession(ctx, id); err != nil {
					return err
				}
				return f.Done(true, "session %d has ended", id)
			})
		},
	}
	cli.AddYes(c)
	return c
}

// described returns a session's description in brackets, empty if missing.
func described(text string) string {
	if text == "" {
		return ""
	}
	return " (" + cli.Safe(text) + ")"
}

// holdingWords describes what a session holds.
func holdingWords(holdings []*client.Holding) string {
	var owned, waiting []string
	for _, h := range holdings {
		if h.Waiting {
			waiting = append(waiting, cli.Safe(h.Name))
		} else {
			owned = append(owned, cli.Safe(h.Name))
		}
	}
	var parts []string
	if len(owned) > 0 {
		parts = append(parts, "owns "+few(owned))
	}
	if len(waiting) > 0 {
		parts = append(parts, "waits for "+few(waiting))
	}
	if len(parts) == 0 {
		return "holds nothing"
	}
	return strings.Join(parts, " and ")
}

// fewMost is the maximum number of names in a sentence.
const fewMost = 5

// few joins names, and counts those beyond fewMost.
func few(names []string) string {
	if len(names) <= fewMost {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewMost], ", "), len(names)-fewMost)
}

// sessionID parses a session id.
func sessionID(text string) (uint64, error) {
	return cli.Number(text, "a session id: a number, as shown by signalbox session list")
}
