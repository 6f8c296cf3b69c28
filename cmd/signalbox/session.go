package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newSession returns the commands about sessions.
func newSession(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "session",
		Short: "Clients' leases: list, show, end",
		Long: `A session is the lease of a client in one node. It lives as long as its client keeps
in touch, and its timeout longer; everything that it owns goes when it ends.`,
	}, newSessionList(f), newSessionShow(f), newSessionEnd(f)))
}

// sessionObject is a session as it is printed.
type sessionObject struct {
	ID          cli.ID `json:"id"`
	NodeID      uint64 `json:"node_id"`
	TimeoutMS   int64  `json:"timeout_ms"`
	Description string `json:"description"`
	Attached    bool   `json:"attached"`
	Owned       int    `json:"owned"`
	Waiting     int    `json:"waiting"`
	clientObject
	Node string `json:"node,omitempty"` // its path; left out if it could not be asked for
}

func newSessionObject(path string, s *client.SessionInfo) sessionObject {
	return sessionObject{
		cli.ID(s.ID), s.NodeID, cli.Millis(s.Timeout), s.Description, s.Attached, s.Owned, s.Waiting,
		newClientObject(s.Since, s.Client), path,
	}
}

// sessionDetails is a session with what it holds.
type sessionDetails struct {
	sessionObject
	Holdings []holdingObject `json:"holdings"`
}

// holdingObject is what a session owns of a semaphore, or waits for, or its part in an object of another kind.
type holdingObject struct {
	Name    string     `json:"name"`
	Kind    string     `json:"kind"`
	Role    string     `json:"role"`
	Waiting bool       `json:"waiting"`
	OrderID uint64     `json:"order_id"`
	Count   cli.Amount `json:"count"`
	Since   *time.Time `json:"since,omitempty"`
}

func newSessionList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "list [PATH]",
		Short: "List the sessions of a node, or of all",
		Long: `Lists the sessions of a node, or, without PATH, of all nodes that you may see: who is
there, whether a connection holds the session at the moment (attached), how many
semaphores it owns a part of and waits for, since when it is there, and from which
address. A session that is not attached has its timeout to come back. With -o wide
the table says what its client calls itself.`,
		Example: `  signalbox session list /prod/jobs
  signalbox session list -o wide

  # those without a connection
  signalbox session list /prod/jobs -o json | jq 'select(.attached | not)'`,
		Args:              cli.Arguments("[PATH]"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				node := "+NODE"
				if len(args) == 0 {
					node = "NODE"
				}
				rows := f.Rows(node, "SESSION#", "ATTACHED", "OWNS#", "WAITS#", "TIMEOUT#", "SINCE", "FROM", "+CLIENT",
					"DESCRIPTION")
				sessions := eachInNodes(ctx, box, args, func(n *client.Node) iter.Seq2[*client.SessionInfo, error] {
					return n.Sessions(ctx)
				})
				return cli.AddAll(rows, sessions, func(p inNode[*client.SessionInfo]) error {
					s := p.thing
					return rows.Add(newSessionObject(p.path, s), p.path, s.ID, s.Attached, s.Owned, s.Waiting,
						s.Timeout, sinceCell(s.Since), s.Client.Address, clientCell(s.Client), s.Description)
				})
			})
		},
	}
}

func newSessionShow(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session and what it holds",
		Long: `Shows a session by its id, since when it is there and from which address, with the
semaphores that it owns a part of or waits for, and since when.
The order id of what it owns is its fencing token.`,
		Example: `  signalbox session show 13245086504096628737
  signalbox session show 13245086504096628737 -o json | jq -r '.holdings[].name'`,
		Args: cli.Arguments("SESSION"),
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

func printSession(f *cli.Frame, d *sessionDetails) error {
	err := f.Fields(d,
		cli.Field{Name: "session", Cell: d.ID},
		cli.Field{Name: "node", Cell: d.Node},
		cli.Field{Name: "node id", Cell: d.NodeID},
		cli.Field{Name: "description", Cell: d.Description},
		cli.Field{Name: "attached", Cell: d.Attached},
		cli.Field{Name: "timeout", Cell: millis(d.TimeoutMS)},
		cli.Field{Name: "owns", Cell: d.Owned},
		cli.Field{Name: "waits for", Cell: d.Waiting},
		cli.Field{Name: "since", Cell: sinceOf(d.Since)},
		cli.Field{Name: "from", Cell: d.Address},
		cli.Field{Name: "client", Cell: clientCell(client.ClientInfo{Name: d.Client, Version: d.Version})},
	)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, h := range d.Holdings {
		rows = append(rows, []any{h.Name, h.Kind, h.Role, h.OrderID, h.Count, sinceOf(h.Since)})
	}
	return f.Section("What it holds:", []string{"NAME", "KIND", "ROLE", "ORDER#", "COUNT#", "SINCE"}, rows)
}

// describeSession describes a session with what it holds.
func describeSession(ctx context.Context, box *client.Client, id uint64) (*sessionDetails, error) {
	s, err := box.DescribeSession(ctx, id)
	if errors.Is(err, client.ErrSessionExpired) {
		return nil, cli.Errorf(cli.ExitNotFound, "there is no session %d; it is over, or there never was one: "+
			"signalbox session list PATH shows those of a node", id)
	}
	if err != nil {
		return nil, err
	}
	d := &sessionDetails{newSessionObject(nodePath(ctx, box, s.NodeID), s), []holdingObject{}}
	for h, err := range box.Holdings(ctx, id) {
		if err != nil {
			return nil, err
		}
		d.Holdings = append(d.Holdings, holdingObject{h.Name, h.Kind, h.Role, h.Waiting, h.OrderID, cli.Amount(h.Count),
			sinceField(h.Since)})
	}
	return d, nil
}

// nodePath is the path of a node, empty if it is not among those that may be listed.
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
		Short: "End a session of anybody",
		Long: `Ends a session: everything that it owns goes to those who wait, and its client is
told. It is what to do about a client that keeps what it should not, without
waiting for its timeout. A client that renews its sessions comes back with a new
one, behind all who wait.

The command says what the session holds and asks, unless there is --yes.`,
		Example: `  signalbox session end 13245086504096628737

  # in a script
  signalbox session end 13245086504096628737 --yes`,
		Args: cli.Arguments("SESSION"),
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
				f.Say("session %d is ended", id)
				return nil
			})
		},
	}
	cli.AddYes(c)
	return c
}

// described is the description of a session in brackets, if there is any.
func described(text string) string {
	if text == "" {
		return ""
	}
	return " (" + cli.Safe(text) + ")"
}

// holdingWords says what a session holds.
func holdingWords(holdings []holdingObject) string {
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

// fewMost is how many names a sentence has.
const fewMost = 5

// few joins names, and counts those that are too many for a sentence.
func few(names []string) string {
	if len(names) <= fewMost {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewMost], ", "), len(names)-fewMost)
}

// sessionID reads the id of a session.
func sessionID(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, cli.Errorf(cli.ExitUsage,
			"%s is not the id of a session; it is a number, as signalbox session list shows it", cli.Safe(text))
	}
	return id, nil
}
