package operation

import (
	"context"
	"fmt"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// processPutRequest creates a process, or replaces a process's spec.
type processPutRequest struct {
	Named
	Spec process.Spec
	process.ChangeInfo
}

// evictRequest removes a member by id. The command has its own code, because it first finds the id for a name.
type evictRequest struct {
	Named
	Member uint64 `need:"true" about:"Member id"`
	process.ChangeInfo
}

// restartRequest ends a process's round. Members stay, and the next epoch has the same members.
type restartRequest struct {
	Named
	process.ChangeInfo
}

// process returns a handle for the process named in a request.
func (n *Named) process(c *client.Client) *process.Process { return process.New(c, n.Node, n.Name) }

// processes are the operations on coordination processes.
func processes() []Operation {
	return group("Processes",
		overNodes("/processes", protocol.KindProcessList, "Lists processes in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, q *objectsRequest, node, after string,
			) iter.Seq2[*process.Summary, error] {
				return process.List(ctx, c, node, process.Prefix(q.Prefix), process.After(after))
			},
			func(s *process.Summary) string { return s.Name },
			Face{
				Use: "process list [PATH] [PREFIX]", Short: "List the processes in a node, or in all nodes",
				Long: `Lists the processes in a node, or, without PATH, in all nodes that you may see. PREFIX
selects names that start with it. PREPARED is the number of prepared members in the
epoch, RESULT the last completed epoch.`,
				Example: `  signalbox process list /prod
  signalbox process list

  # those whose members are not all prepared
  signalbox process list -o json | jq 'select(.phase == "preparing") | .name'`,
				Table: table(func(p apijson.InNode[*process.Summary]) []any {
					s := p.Item
					return []any{p.Node, s.Name, s.Phase, OrNothing(s.Epoch), s.Members, s.Prepared, s.Coordinator,
						OrNothing(s.LastResult)}
				}, "+NODE", "NAME", "PHASE", "EPOCH#", "MEMBERS#", "PREPARED#", "COORDINATOR", "RESULT#"),
			}),
		follow(read("/process", protocol.KindProcessDescribe,
			"Describes a process, its members, and why a round is blocked",
			func(ctx context.Context, c *client.Client, q *objectRequest) (*process.State, error) {
				return q.process(c).Describe(ctx, process.WithReasons(), process.Consistency(q.consistency()))
			}),
			func(ctx context.Context, c *client.Client, q *objectRequest) iter.Seq2[*process.State, error] {
				return q.process(c).Watch(ctx, screenPause)
			},
			func(state *process.State) (uint64, any) { return 0, state }),
		read("/process/actions", protocol.KindProcessDescribe, "Lists a process's audit entries",
			func(ctx context.Context, c *client.Client, q *Named) (List[process.ActionRecord], error) {
				acts, err := q.process(c).Actions(ctx)
				return listed(ctx, acts, err)
			},
			Face{
				Use: "process actions PATH NAME", Short: "List operators' actions, and failed rounds",
				Long: `Lists operators' actions on a process, and members that failed a round, oldest first,
with author, time and reason.`,
				Example: `  signalbox process actions /prod counter

  # who was put out?
  signalbox process actions /prod counter -o json | jq 'select(.action == "evict") | .member'`,
				Table: table(func(a process.ActionRecord) []any {
					return []any{a.At, a.At.Wall, a.Kind, OrNothing(a.Epoch), a.Member, OrNothing(a.MemberID),
						a.By.Author, a.By.Reason}
				}, "AGE#", "+AT", "ACT", "EPOCH#", "MEMBER", "+ID#", "AUTHOR", "REASON"),
			}),
		apply("/process/put", protocol.KindProcessPut, "Creates a process, or replaces its spec",
			func(ctx context.Context, c *client.Client, q *processPutRequest) error {
				_, err := q.process(c).Put(ctx, q.Spec, q.ChangeInfo)
				return err
			}),
		apply("/process/evict", protocol.KindProcessAction, "Removes a member from a process",
			func(ctx context.Context, c *client.Client, q *evictRequest) error {
				return q.process(c).Evict(ctx, q.Member, q.ChangeInfo)
			}),
		apply("/process/restart", protocol.KindProcessAction, "Ends the current round and starts a new epoch",
			func(ctx context.Context, c *client.Client, q *restartRequest) error {
				return q.process(c).Restart(ctx, q.ChangeInfo)
			},
			Face{
				Use: "process restart PATH NAME", Short: "End the round, and open a new epoch",
				Long: `Ends the round, even a completed round, and opens a new epoch with the same members
after the process's --open-delay.`,
				Example: `  signalbox process restart /prod counter --reason 'the coordinator hangs'`,
				Done:    "process NAME opens a new epoch",
			}),
		apply("/process/delete", protocol.KindProcessDelete, "Deletes a process",
			func(ctx context.Context, c *client.Client, q *deleteRequest) error {
				return q.process(c).Delete(ctx, q.Force)
			},
			Face{
				Use: "process delete PATH NAME [--force]", Short: "Delete a process",
				Long: `Deletes a process with its results. A process with members is not deleted (exit code 79)
unless --force is given: then the members are notified, and their round is over. The
command prints the number of members and asks for confirmation unless --yes is given.`,
				Example: `  signalbox process delete /prod counter

  # though it is in use
  signalbox process delete /prod counter --force --yes`,
				Done: "process NAME is deleted",
				Confirm: confirm(func(ctx context.Context, c *client.Client, q *deleteRequest) (string, error) {
					state, err := q.process(c).Describe(ctx)
					if err != nil {
						return "", err
					}
					return fmt.Sprintf("this deletes process %s in node %s with %s", q.Name, q.Node,
						Plural(len(state.Members), "member")), nil
				}),
			}),
	)
}
