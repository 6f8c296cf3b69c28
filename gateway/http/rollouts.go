package http

import (
	"context"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
)

// screenPause is how often a rollout or a process is shown anew though nothing has changed: time alone changes ages.
const screenPause = 2 * time.Second

type objectsRequest struct {
	Node string `about:"only those of this node"`
	paged
}

// nodeRollout is a rollout with the path of its node.
type nodeRollout struct {
	Node string
	*rollout.Summary
}

type rolloutPutRequest struct {
	named
	Spec   rollout.Spec
	Author string
	Reason string
}

type locationRequest struct {
	named
	Location string `need:"true"`
	paged
}

type actRequest struct {
	named
	Verb      rollout.Verb `need:"true"`
	Locations []string     `about:"none: all"`
	Seq       uint64       `about:"the version that it is about"`
	Fast      bool         `about:"a roll-back reaches all locations at once"`
	Author    string
	Reason    string
}

type judgeRequest struct {
	named
	Location string         `need:"true"`
	Gate     string         `need:"true"`
	Seq      uint64         `need:"true" about:"the version that was checked"`
	Result   rollout.Result `need:"true"`
	Text     string         `about:"what was found"`
	Author   string         `about:"who has checked it"`
}

type publishRequest struct {
	named
	Payload []byte
	Label   string
	Author  string
	Reason  string
	Expect  *uint64 `about:"only if the newest version has this seq, 0 for none"`
	Fence   uint64  `about:"the fencing token of the publisher: only if no newer one has published"`
}

type published struct{ Seq uint64 }

// rolloutRoutes are about rollouts.
func rolloutRoutes() []route {
	const group = "Rollouts"
	return []route{
		get("/rollouts", group, "see", "Lists the rollouts of a node, or of all",
			func(ctx context.Context, c *call, q *objectsRequest) (list[nodeRollout], error) {
				return overNodes(ctx, c, q, func(node string) iter.Seq2[nodeRollout, error] {
					found := rollout.List(ctx, c.caller.Client, node, rollout.Prefix(q.Prefix))
					return inNode(found, func(s *rollout.Summary) nodeRollout { return nodeRollout{node, s} })
				})
			}),
		followed(get("/rollout", group, "see", "Describes a rollout, and why it does not move",
			func(ctx context.Context, c *call, q *semaphoreRequest) (*rollout.State, error) {
				options := []rollout.ReadOption{rollout.WithReasons(), rollout.Consistency(strictly(q.Strict))}
				return rollout.Of(c.caller.Client, q.Node, q.Name).Describe(ctx, options...)
			}), followRollout),
		get("/rollout/instances", group, "see", "Lists the instances of a location",
			func(ctx context.Context, c *call, q *locationRequest) (list[*rollout.InstanceState], error) {
				return collect(rollout.Of(c.caller.Client, q.Node, q.Name).Instances(ctx, q.Location), q.Limit)
			}),
		get("/rollout/acts", group, "see", "Lists what operators did with a rollout",
			func(ctx context.Context, c *call, q *named) (list[rollout.PastAct], error) {
				acts, err := rollout.Of(c.caller.Client, q.Node, q.Name).Acts(ctx)
				return list[rollout.PastAct]{Items: acts}, err
			}),
		post("/rollout/put", group, "operate", "Makes a rollout, or gives it another spec",
			func(ctx context.Context, c *call, q *rolloutPutRequest) (done, error) {
				by := rollout.By{Author: q.Author, Reason: q.Reason}
				_, err := rollout.Of(c.caller.Client, q.Node, q.Name).Put(ctx, q.Spec, by)
				return done{true}, err
			}),
		post("/rollout/act", group, "operate", "Pauses, resumes, promotes, aborts or rolls back, and so on",
			func(ctx context.Context, c *call, q *actRequest) (done, error) {
				return done{true}, rollout.Of(c.caller.Client, q.Node, q.Name).Act(ctx, rollout.Act{
					Verb: q.Verb, Locations: q.Locations, Seq: q.Seq, Fast: q.Fast,
					By: rollout.By{Author: q.Author, Reason: q.Reason},
				})
			}),
		post("/rollout/judge", group, "write", "Says at a gate of a location whether a version has passed it",
			func(ctx context.Context, c *call, q *judgeRequest) (done, error) {
				return done{true}, rollout.Of(c.caller.Client, q.Node, q.Name).Judge(ctx, rollout.Judgement{
					Location: q.Location, Gate: q.Gate, Seq: q.Seq, By: q.Author,
					Verdict: rollout.Verdict{Result: q.Result, Text: q.Text},
				})
			}),
		post("/rollout/publish", group, "write", "Publishes a version", publishVersion),
		post("/rollout/delete", group, "delete", "Deletes a rollout",
			func(ctx context.Context, c *call, q *deleteRequest) (done, error) {
				return done{true}, rollout.Of(c.caller.Client, q.Node, q.Name).Delete(ctx, q.Force)
			}),
	}
}

func publishVersion(ctx context.Context, c *call, q *publishRequest) (p published, err error) {
	options := []rollout.PublishOption{rollout.Label(q.Label), rollout.Author(q.Author), rollout.Reason(q.Reason)}
	if q.Expect != nil {
		options = append(options, rollout.Expect(*q.Expect))
	}
	if q.Fence > 0 {
		options = append(options, rollout.FenceToken(q.Fence))
	}
	p.Seq, err = rollout.Of(c.caller.Client, q.Node, q.Name).Publish(ctx, q.Payload, options...)
	return p, err
}

func followRollout(ctx context.Context, c *call, q *semaphoreRequest, publish publisher) error {
	for state, err := range rollout.Of(c.caller.Client, q.Node, q.Name).Watch(ctx, screenPause) {
		if err != nil {
			return err
		}
		publish(0, state) // reasons change without its revision
	}
	return ctx.Err()
}
