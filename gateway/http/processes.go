package http

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/process"
)

// nodeProcess is a process with the path of its node.
type nodeProcess struct {
	Node string
	*process.Summary
}

type processPutRequest struct {
	named
	Spec   process.Spec
	Author string
	Reason string
}

type kickRequest struct {
	named
	Member uint64 `need:"true" about:"the id of the member"`
	Author string
	Reason string
}

type restartRequest struct {
	named
	Author string
	Reason string
}

// processRoutes are about coordination processes.
func processRoutes() []route {
	const group = "Processes"
	return []route{
		get("/processes", group, "see", "Lists the processes of a node, or of all",
			func(ctx context.Context, c *call, q *objectsRequest) (list[nodeProcess], error) {
				return overNodes(ctx, c, q, func(node string) iter.Seq2[nodeProcess, error] {
					found := process.List(ctx, c.caller.Client, node, process.Prefix(q.Prefix))
					return inNode(found, func(s *process.Summary) nodeProcess { return nodeProcess{node, s} })
				})
			}),
		followed(get("/process", group, "see", "Describes a process with its members, and why its round does not move",
			func(ctx context.Context, c *call, q *semaphoreRequest) (*process.State, error) {
				options := []process.ReadOption{process.WithReasons(), process.Consistency(strictly(q.Strict))}
				return process.Of(c.caller.Client, q.Node, q.Name).Describe(ctx, options...)
			}), followProcess),
		get("/process/acts", group, "see", "Lists what was done to a process",
			func(ctx context.Context, c *call, q *named) (list[process.PastAct], error) {
				acts, err := process.Of(c.caller.Client, q.Node, q.Name).Acts(ctx)
				return list[process.PastAct]{Items: acts}, err
			}),
		post("/process/put", group, "operate", "Makes a process, or gives it another spec",
			func(ctx context.Context, c *call, q *processPutRequest) (done, error) {
				by := process.By{Author: q.Author, Reason: q.Reason}
				_, err := process.Of(c.caller.Client, q.Node, q.Name).Put(ctx, q.Spec, by)
				return done{true}, err
			}),
		post("/process/kick", group, "operate", "Removes a member from a process",
			func(ctx context.Context, c *call, q *kickRequest) (done, error) {
				by := process.By{Author: q.Author, Reason: q.Reason}
				return done{true}, process.Of(c.caller.Client, q.Node, q.Name).Kick(ctx, q.Member, by)
			}),
		post("/process/restart", group, "operate", "Ends the round of a process, and opens another epoch",
			func(ctx context.Context, c *call, q *restartRequest) (done, error) {
				by := process.By{Author: q.Author, Reason: q.Reason}
				return done{true}, process.Of(c.caller.Client, q.Node, q.Name).Restart(ctx, by)
			}),
		post("/process/delete", group, "delete", "Deletes a process",
			func(ctx context.Context, c *call, q *deleteRequest) (done, error) {
				return done{true}, process.Of(c.caller.Client, q.Node, q.Name).Delete(ctx, q.Force)
			}),
	}
}

func followProcess(ctx context.Context, c *call, q *semaphoreRequest, publish publisher) error {
	for state, err := range process.Of(c.caller.Client, q.Node, q.Name).Watch(ctx, screenPause) {
		if err != nil {
			return err
		}
		publish(0, state) // reasons change without its revision
	}
	return ctx.Err()
}
