package operation

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// rolloutPutRequest creates a rollout, or replaces a rollout's spec. Commands read the spec from flags and files, so
// there is no face.
type rolloutPutRequest struct {
	Named
	Spec rollout.Spec
	rollout.ChangeInfo
}

// locationRequest asks for a location's instances.
type locationRequest struct {
	Named
	Location string `need:"true"`
	Paged
}

// historyRequest asks for locations' past targets.
type historyRequest struct {
	Named
	Location string `about:"Locations. Default: all"`
	Page
}

// pastTarget is a location's past target.
type pastTarget struct {
	Location string
	rollout.Row
}

// actionRequest is an operator's action. Each action has a command, which takes the fields relevant for the action.
type actionRequest struct {
	Named
	Action    rollout.ActionKind `need:"true"`
	Locations []string           `flag:"location" about:"Locations. Default: all" help:"'LOCATION' for the action. May be repeated"`
	Version   uint64             `arg:"VERSION" flag:"to" about:"Version number" help:"'VERSION' number, as shown by signalbox rollout versions" form:"the number of a version, as signalbox rollout versions shows it"`
	AllAtOnce bool               `about:"Roll back all locations at once, without order and delays" help:"Roll back all locations at once, without order and delays"`
	rollout.ChangeInfo
}

// gateReportRequest is a gate check's verdict.
type gateReportRequest struct {
	Named
	Location string         `need:"true"`
	Gate     string         `need:"true"`
	Version  uint64         `need:"true" about:"Version that was checked"`
	Verdict  rollout.Result `need:"true"`
	Message  string         `about:"Finding"`
	Author   string         `about:"Verdict author"`
}

// publishRequest publishes a version. Expect guards against a faster publisher, Fence against an older publisher that
// does not know about its successor yet.
type publishRequest struct {
	Named
	Payload []byte
	Label   string
	rollout.ChangeInfo
	Expect *uint64 `about:"Publish only if the newest version has this number. 0: only if there is no version"`
	Fence  uint64  `about:"Fencing token. Publish only if no version has a higher one"`
}

// Published is the number of a published version.
type Published struct {
	Version uint64 `omit:"never"`
}

// rollout returns a handle for the rollout named in a request.
func (n *Named) rollout(c *client.Client) *rollout.Rollout { return rollout.New(c, n.Node, n.Name) }

// rollouts are the operations on rollouts.
func rollouts() []Operation {
	return group("Rollouts",
		overNodes("/rollouts", protocol.KindRolloutList, "Lists rollouts in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, q *objectsRequest, node, after string,
			) iter.Seq2[*rollout.Summary, error] {
				return rollout.List(ctx, c, node, rollout.Prefix(q.Prefix), rollout.After(after))
			},
			func(s *rollout.Summary) string { return s.Name },
			Face{
				Use: "rollout list [PATH] [PREFIX]", Short: "List the rollouts in a node, or in all nodes",
				Long: `Lists the rollouts in a node, or, without PATH, in all nodes that you may see. PREFIX
selects names that start with it. REACHED counts the locations that have reached the
newest version.`,
				Example: `  signalbox rollout list /prod
  signalbox rollout list

  # those that need somebody
  signalbox rollout list -o json | jq 'select(.phase == "halted" or .phase == "blocked") | .name'`,
				Table: table(func(p apijson.InNode[*rollout.Summary]) []any {
					s := p.Item
					return []any{p.Node, s.Name, s.Phase, OrNothing(s.LastSeq), s.Label, OutOf(s.Reached, s.Locations),
						s.Instances}
				}, "+NODE", "NAME", "PHASE", "VERSION#", "LABEL", "REACHED", "INSTANCES#"),
			}),
		follow(read("/rollout", protocol.KindRolloutDescribe, "Describes a rollout, and why it is blocked",
			func(ctx context.Context, c *client.Client, q *objectRequest) (*rollout.State, error) {
				return q.rollout(c).Describe(ctx, rollout.WithReasons(), rollout.Consistency(q.consistency()))
			},
			Face{
				Use: "rollout versions PATH NAME", Short: "List a rollout's versions",
				Long: `Lists the stored versions of a rollout, oldest first: when, by whom and why each version
was published, and where it was abandoned. signalbox rollout payload prints a version.`,
				Example: `  signalbox rollout versions /prod dns
  signalbox rollout versions /prod dns -o json | jq 'select(.abandoned_in != [])'`,
				Table: tableOf(func(s *rollout.State) []rollout.Version { return s.Versions },
					func(v rollout.Version) []any {
						return []any{v.Seq, v.Label, versionState(&v), v.PayloadBytes, v.Published, v.Published.Wall,
							v.By.Author, v.By.Reason}
					}, "VERSION#", "LABEL", "STATE", "BYTES#", "AGE#", "+AT", "AUTHOR", "REASON"),
			}),
			func(ctx context.Context, c *client.Client, q *objectRequest) iter.Seq2[*rollout.State, error] {
				return q.rollout(c).Watch(ctx, screenPause)
			},
			func(state *rollout.State) (uint64, any) { return 0, state }),
		read("/rollout/instances", protocol.KindRolloutDescribe, "Lists the instances in a location",
			instances),
		pages("/rollout/history", protocol.KindRolloutDescribe,
			"Lists earlier target versions, in one location or in all locations", pastTargets,
			func(t pastTarget) place { return place{t.Location, strconv.FormatUint(t.Generation, 10)} }),
		read("/rollout/actions", protocol.KindRolloutDescribe, "Lists a rollout's audit entries",
			func(ctx context.Context, c *client.Client, q *Named) (List[rollout.ActionRecord], error) {
				acts, err := q.rollout(c).Actions(ctx)
				return listed(ctx, acts, err)
			},
			Face{
				Use: "rollout actions PATH NAME", Short: "List operators' actions",
				Long: "Lists the actions of operators on a rollout, oldest first, with author, time and reason.",
				Example: `  signalbox rollout actions /prod dns

  # who went back?
  signalbox rollout actions /prod dns -o json | jq 'select(.action == "rollback") | .author'`,
				Table: table(func(a rollout.ActionRecord) []any {
					return []any{a.ID, a.At, a.At.Wall, ActWords(&a), a.Locations, OrNothing(a.Seq), a.By.Author,
						a.By.Reason}
				}, "+NUMBER#", "AGE#", "+AT", "ACT", "LOCATIONS", "VERSION#", "AUTHOR", "REASON"),
			}),
		apply("/rollout/put", protocol.KindRolloutPut, "Creates a rollout, or replaces its spec",
			func(ctx context.Context, c *client.Client, q *rolloutPutRequest) error {
				_, err := q.rollout(c).Put(ctx, q.Spec, q.ChangeInfo)
				return err
			}),
		apply("/rollout/action", protocol.KindRolloutAction,
			"Pauses, resumes, promotes, aborts or rolls back a rollout",
			func(ctx context.Context, c *client.Client, q *actionRequest) error {
				return q.rollout(c).Act(ctx, rollout.Action{
					Kind: q.Action, Locations: q.Locations, Seq: q.Version, Fast: q.AllAtOnce, By: q.ChangeInfo,
				})
			}, rolloutActs...),
		apply("/rollout/gate/report", protocol.KindRolloutGateReport,
			"Reports whether a version has passed a location's gate",
			func(ctx context.Context, c *client.Client, q *gateReportRequest) error {
				return q.rollout(c).ReportGate(ctx, rollout.GateReport{
					Location: q.Location, Gate: q.Gate, Seq: q.Version, By: q.Author,
					Verdict: rollout.Verdict{Result: q.Verdict, Text: q.Message},
				})
			}),
		change("/rollout/publish", protocol.KindRolloutPublish, "Publishes a version", publish),
		apply("/rollout/delete", protocol.KindRolloutDelete, "Deletes a rollout",
			func(ctx context.Context, c *client.Client, q *deleteRequest) error {
				return q.rollout(c).Delete(ctx, q.Force)
			},
			Face{
				Use: "rollout delete PATH NAME [--force]", Short: "Delete a rollout",
				Long: `Deletes a rollout with its versions and its history. A rollout with instances is not
deleted (exit code 79) unless --force is given: then the instances are notified, and
keep the version in use. The command prints how many instances there are and asks for
confirmation unless --yes is given.`,
				Example: `  signalbox rollout delete /prod dns

  # though it is in use
  signalbox rollout delete /prod dns --force --yes`,
				Done: "rollout NAME is deleted",
				Confirm: confirm(func(ctx context.Context, c *client.Client, q *deleteRequest) (string, error) {
					state, err := q.rollout(c).Describe(ctx)
					if err != nil {
						return "", err
					}
					instances := 0
					for _, l := range state.Locations {
						instances += l.Instances
					}
					return fmt.Sprintf("this deletes rollout %s in node %s with %s", q.Name, q.Node,
						Plural(instances, "instance")), nil
				}),
			}),
	)
}

// versionState says in words how a version is.
func versionState(v *rollout.Version) string {
	switch {
	case v.Withdrawn:
		return "withdrawn"
	case len(v.AbandonedIn) > 0:
		return "abandoned in " + strings.Join(v.AbandonedIn, ", ")
	}
	return "published"
}

// ActWords describes an operator's action in words.
func ActWords(a *rollout.ActionRecord) string {
	if a.Fast {
		return a.Kind.String() + " --all-at-once"
	}
	return a.Kind.String()
}

// instances creates a page with a location's instances sorted by name, because a position in joining order does not
// outlive an instance.
func instances(
	ctx context.Context, c *client.Client, q *locationRequest,
) (l List[*rollout.InstanceState], err error) {
	behind, err := q.behind()
	if err != nil {
		return l, err
	}
	var first []*rollout.InstanceState // the first ones behind the place, by name
	room, most, reserved := itemsRoom(ctx), q.Size()+1, 0
	sorted := func() []*rollout.InstanceState {
		slices.SortFunc(first, func(a, b *rollout.InstanceState) int { return strings.Compare(a.Name, b.Name) })
		return first[:min(len(first), most)]
	}
	for i, err := range q.rollout(c).Instances(ctx, q.Location) {
		switch {
		case err != nil:
			return l, err
		case !strings.HasPrefix(i.Name, q.Prefix) || i.Name <= behind.name:
			continue
		}
		if first = append(first, i); len(first) == most+unsortedInstances {
			first = sorted()
		}
		if len(first) > reserved && room != nil {
			if reserved++; !room.Grow(instanceRoom) {
				return l, ErrNoRoom
			}
		}
	}
	return collect(ctx, ready(sorted()), q.Size(), func(i *rollout.InstanceState) place { return place{name: i.Name} })
}

const (
	// unsortedInstances is how many instances beyond a page are kept while a whole location is read.
	unsortedInstances = 1000
	// instanceRoom is an instance's memory.
	instanceRoom = 2 << 10
)

// pastTargets lists past targets after a position, by location, oldest first.
func pastTargets(
	ctx context.Context, c *client.Client, q *historyRequest, behind place,
) iter.Seq2[pastTarget, error] {
	of, names := q.rollout(c), []string{q.Location}
	var unnamed error
	if q.Location == "" {
		names, unnamed = locationsOf(ctx, of)
	}
	generation, _ := strconv.ParseUint(behind.name, 10, 64)
	return func(yield func(pastTarget, error) bool) {
		if unnamed != nil {
			yield(pastTarget{}, unnamed)
			return
		}
		for _, name := range names {
			if name < behind.node {
				continue
			}
			rows, err := of.History(ctx, name)
			if err != nil {
				yield(pastTarget{}, err)
				return
			}
			for _, row := range rows {
				if name == behind.node && row.Generation <= generation {
					continue
				}
				if !yield(pastTarget{name, row}, nil) {
					return
				}
			}
		}
	}
}

// locationsOf returns a rollout's location names, sorted.
func locationsOf(ctx context.Context, of *rollout.Rollout) (names []string, err error) {
	state, err := of.Describe(ctx)
	if err != nil {
		return nil, err
	}
	for i := range state.Locations {
		names = append(names, state.Locations[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

func publish(ctx context.Context, c *client.Client, q *publishRequest) (p Published, err error) {
	options := []rollout.PublishOption{rollout.Label(q.Label), rollout.Author(q.Author), rollout.Reason(q.Reason)}
	if q.Expect != nil {
		options = append(options, rollout.Expect(*q.Expect))
	}
	if q.Fence > 0 {
		options = append(options, rollout.FenceToken(q.Fence))
	}
	p.Version, err = q.rollout(c).Publish(ctx, q.Payload, options...)
	return p, err
}
