package operation

import (
	"context"
	"fmt"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/internal/shape"
	"github.com/signalbox/signalbox/protocol"
)

// processPutRequest makes a process, or replaces the spec of a process.
type processPutRequest struct {
	Named
	Spec process.Spec
	process.By
}

// evictRequest removes a member by id. The command finds the id of a name first, so the command has code of its own.
type evictRequest struct {
	Named
	Member uint64 `need:"true" about:"the id of the member"`
	process.By
}

// restartRequest ends the round of a process. Members stay, and the next epoch has the same members.
type restartRequest struct {
	Named
	process.By
}

// process is the handle of the process that a request names.
func (n *Named) process(c *client.Client) *process.Process { return process.Of(c, n.Node, n.Name) }

// processes are the operations on coordination processes.
func processes() []Operation {
	return group("Processes",
		overNodes("/processes", protocol.KindProcessList, "Lists the processes of a node, or of all",
			func(ctx context.Context, c *client.Client, q *objectsRequest, node, after string,
			) iter.Seq2[*process.Summary, error] {
				return process.List(ctx, c, node, process.Prefix(q.Prefix), process.After(after))
			},
			func(s *process.Summary) string { return s.Name },
			Face{
				Use: "process list [PATH] [PREFIX]", Short: "List the processes of a node, or of all",
				Long: `Lists the processes of a node whose names begin with PREFIX, letter by letter; all
without it. Without PATH it lists those of all nodes that you may see. PREPARED says how
many members of the epoch are prepared, RESULT which epoch was completed last.`,
				Example: `  signalbox process list /prod
  signalbox process list

  # those whose members are not all prepared
  signalbox process list -o json | jq 'select(.phase == "preparing") | .name'`,
				Table: table(func(p shape.InNode[*process.Summary]) []any {
					s := p.Item
					return []any{p.Node, s.Name, s.Phase, OrNothing(s.Epoch), s.Members, s.Prepared, s.Coordinator,
						OrNothing(s.LastResult)}
				}, "+NODE", "NAME", "PHASE", "EPOCH#", "MEMBERS#", "PREPARED#", "COORDINATOR", "RESULT#"),
			}),
		follow(read("/process", protocol.KindProcessDescribe,
			"Describes a process with its members, and why its round does not move",
			func(ctx context.Context, c *client.Client, q *objectRequest) (*process.State, error) {
				return q.process(c).Describe(ctx, process.WithReasons(), process.Consistency(q.consistency()))
			}),
			func(ctx context.Context, c *client.Client, q *objectRequest) iter.Seq2[*process.State, error] {
				return q.process(c).Watch(ctx, screenPause)
			},
			func(state *process.State) (uint64, any) { return 0, state }),
		read("/process/actions", protocol.KindProcessDescribe, "Lists what was done to a process",
			func(ctx context.Context, c *client.Client, q *Named) (List[process.PastAct], error) {
				acts, err := q.process(c).Acts(ctx)
				return listed(ctx, acts, err)
			},
			Face{
				Use: "process actions PATH NAME", Short: "List what operators did, and which rounds were given up",
				Long: `Lists what operators did with a process, and which members gave a round up, the oldest
that is kept first, with who, when and why.`,
				Example: `  signalbox process actions /prod counter

  # who was put out?
  signalbox process actions /prod counter -o json | jq 'select(.action == "evict") | .member'`,
				Table: table(func(a process.PastAct) []any {
					return []any{a.At, a.At.Wall, a.Verb, OrNothing(a.Epoch), a.Member, OrNothing(a.MemberID),
						a.By.Author, a.By.Reason}
				}, "AGE#", "+AT", "ACT", "EPOCH#", "MEMBER", "+ID#", "AUTHOR", "REASON"),
			}),
		apply("/process/put", protocol.KindProcessPut, "Makes a process, or gives it another spec",
			func(ctx context.Context, c *client.Client, q *processPutRequest) error {
				_, err := q.process(c).Put(ctx, q.Spec, q.By)
				return err
			}),
		apply("/process/evict", protocol.KindProcessAct, "Removes a member from a process",
			func(ctx context.Context, c *client.Client, q *evictRequest) error {
				return q.process(c).Kick(ctx, q.Member, q.By)
			}),
		apply("/process/restart", protocol.KindProcessAct, "Ends the round of a process, and opens another epoch",
			func(ctx context.Context, c *client.Client, q *restartRequest) error {
				return q.process(c).Restart(ctx, q.By)
			},
			Face{
				Use: "process restart PATH NAME", Short: "End the round, and open another epoch",
				Long: `Ends the round, also one that is complete, and opens another epoch with the same members
after the --open-delay of the process.`,
				Example: `  signalbox process restart /prod counter --reason 'the coordinator hangs'`,
				Done:    "process NAME begins another round",
			}),
		apply("/process/delete", protocol.KindProcessDelete, "Deletes a process",
			func(ctx context.Context, c *client.Client, q *deleteRequest) error {
				return q.process(c).Delete(ctx, q.Force)
			},
			Face{
				Use: "process delete PATH NAME [--force]", Short: "Delete a process",
				Long: `Deletes a process with its results. One that has members is not deleted, and the command
ends with code 79, unless there is --force: then the members are notified, and their
round is over. Since that hurts, the command says how many they are and asks, unless
there is --yes.`,
				Example: `  signalbox process delete /prod counter

  # though it is in use
  signalbox process delete /prod counter --force --yes`,
				Done: "process NAME is deleted",
				Confirm: confirm(func(ctx context.Context, c *client.Client, q *deleteRequest) (string, error) {
					state, err := q.process(c).Describe(ctx)
					if err != nil {
						return "", err
					}
					return fmt.Sprintf("this deletes process %s of node %s with %s", q.Name, q.Node,
						Plural(len(state.Members), "member")), nil
				}),
			}),
	)
}
