package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newClusterCommands returns the commands about a cluster as a whole and its governor.
func newClusterCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "cluster",
		Short: "The governor: what it does, what it waits for, what was changed",
		Long: `The governor runs at the host that leads the meta shard. It brings hosts to their
targets, replaces what has failed, and spreads votes and leaderships, one small step
after the other.`,
	}, newClusterDescribe(f), newClusterWhy(f), newClusterPlan(f), newClusterSteps(f), newClusterAudit(f),
		newClusterPolicy(f), newClusterRecover(f)))
}

// clusterObject is a cluster as JSON.
type clusterObject struct {
	ID         string              `json:"id"`
	Generation uint64              `json:"generation"`
	Governor   uint64              `json:"governor"`
	Observed   bool                `json:"observed"`
	Hosts      []clusterHostObject `json:"hosts"`
	Shards     []placementObject   `json:"shards"`
	Policy     policyObject        `json:"policy"`
	Concerns   []concernObject     `json:"concerns"`
}

// concernObject is what is not as it should be, as JSON.
type concernObject struct {
	Severity string   `json:"severity"`
	Code     string   `json:"code"`
	Text     string   `json:"text"`
	Mend     string   `json:"mend"`
	Host     uint64   `json:"host,omitempty"`
	Shards   []uint64 `json:"shards,omitempty"`
}

func newClusterObject(c *admin.Cluster) clusterObject {
	o := clusterObject{ID: c.ID, Generation: c.Generation, Governor: c.Governor, Observed: c.Observed,
		Hosts: []clusterHostObject{}, Shards: []placementObject{}, Policy: newPolicyObject(&c.Policy),
		Concerns: concernObjects(c)}
	for i := range c.Hosts {
		o.Hosts = append(o.Hosts, newClusterHostObject(c, &c.Hosts[i]))
	}
	for i := range c.Shards {
		o.Shards = append(o.Shards, newPlacementObject(c, &c.Shards[i]))
	}
	return o
}

func concernObjects(c *admin.Cluster) []concernObject {
	list := []concernObject{}
	for _, x := range c.Concerns {
		list = append(list, concernObject{x.Severity.String(), x.Code, x.Text, x.Mend, x.Host, x.Shards})
	}
	return list
}

// hostName is the name of a host, what stands for one that is not known.
func hostName(c *admin.Cluster, id uint64) string {
	if h := c.Host(id); h != nil {
		return h.Name
	}
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("host %d", id)
}

func newClusterDescribe(f *cli.Frame) *cobra.Command {
	var relaxed bool
	c := &cobra.Command{
		Use:   "describe",
		Short: "Hosts, replicas, redundancy, and what is not as it should be",
		Long: `Shows who governs, how many failures every shard can take, and what is not as it
should be, with what to do about it. -o json has all hosts and replicas.`,
		Example: `  signalbox cluster describe
  signalbox cluster describe -o json | jq '.shards[] | {id, live, tolerated}'`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				cluster, err := describeCluster(ctx, box, relaxed)
				if err != nil {
					return err
				}
				return showCluster(f, cluster)
			})
		},
	}
	addRelaxed(c, &relaxed)
	return c
}

func showCluster(f *cli.Frame, c *admin.Cluster) error {
	o := newClusterObject(c)
	living := 0
	for i := range c.Hosts {
		if c.Hosts[i].Target.State != admin.Expelled {
			living++
		}
	}
	governor := hostName(c, c.Governor)
	if !c.Observed {
		governor += " (it was not asked, or has not heard from the others yet)"
	}
	err := f.Fields(o, cli.Field{Name: "cluster", Cell: o.ID}, cli.Field{Name: "generation", Cell: o.Generation},
		cli.Field{Name: "governor", Cell: governor}, cli.Field{Name: "hosts", Cell: living},
		cli.Field{Name: "failures tolerated", Cell: toleranceText(c)})
	if err != nil {
		return err
	}
	return f.Section("What is not as it should be", concernTitles, concernCells(o.Concerns))
}

// toleranceText says how many failures all shards can take.
func toleranceText(c *admin.Cluster) string {
	if !c.Observed || len(c.Shards) == 0 {
		return "not known"
	}
	least := c.Shards[0].Tolerated
	for i := range c.Shards {
		least = min(least, c.Shards[i].Tolerated)
	}
	if least < 0 {
		return "a majority is missing"
	}
	return fmt.Sprint(least)
}

func shardNames(ids []uint64) string {
	var names []string
	for _, id := range ids {
		names = append(names, shardName(id))
	}
	return strings.Join(names, ",")
}

// clusterStepObject is a step as JSON.
type clusterStepObject struct {
	ID        uint64 `json:"id,omitempty"`
	Kind      string `json:"kind"`
	Text      string `json:"text"`
	Rule      string `json:"rule,omitempty"`
	Subject   string `json:"subject"`
	Shard     uint64 `json:"shard"`
	Host      uint64 `json:"host,omitempty"`
	InMS      int64  `json:"in_ms"`
	AgeMS     int64  `json:"age_ms,omitempty"`
	Failures  int    `json:"failures,omitempty"`
	LastError string `json:"last_error,omitempty"`
	WaitMS    int64  `json:"wait_ms,omitempty"`
}

// governorReasonObject is why something is not done, as JSON.
type governorReasonObject struct {
	Code     string   `json:"code"`
	Text     string   `json:"text"`
	Rule     string   `json:"rule"`
	Subjects []string `json:"subjects"`
	SinceMS  int64    `json:"since_ms,omitempty"`
	LeftMS   int64    `json:"left_ms,omitempty"`
}

// clusterWhyObject is what the governor does and waits for, as JSON.
type clusterWhyObject struct {
	Steps   []clusterStepObject    `json:"steps"`
	Reasons []governorReasonObject `json:"reasons"`
}

// clusterPlanObject is what the governor would do, as JSON.
type clusterPlanObject struct {
	Steps   []clusterStepObject    `json:"steps"`
	Reasons []governorReasonObject `json:"reasons"`
	Cut     bool                   `json:"cut"`
}

func clusterStepObjects(steps []admin.Step) []clusterStepObject {
	list := []clusterStepObject{}
	for _, s := range steps {
		list = append(list, clusterStepObject{s.ID, s.Kind, s.Text, s.Rule, s.Subject, s.Shard, s.Host,
			cli.Millis(s.In), cli.Millis(s.Age), s.Failures, s.LastError, cli.Millis(s.Wait)})
	}
	return list
}

func governorReasonObjects(reasons []admin.Reason) []governorReasonObject {
	list := []governorReasonObject{}
	for _, r := range reasons {
		list = append(list, governorReasonObject{r.Code, r.Text, r.Rule, r.Subjects, cli.Millis(r.Since),
			cli.Millis(r.Left)})
	}
	return list
}

// stepCells are the open steps as a table has them.
func stepCells(steps []admin.Step) (rows [][]any) {
	for _, s := range steps {
		text := s.LastError
		if s.Wait > 0 {
			text = fmt.Sprintf("%s; again in %v", text, s.Wait.Round(100*time.Millisecond))
		}
		rows = append(rows, []any{s.ID, s.Text, s.Age.Round(100 * time.Millisecond), s.Failures, text})
	}
	return rows
}

func reasonCells(reasons []admin.Reason) (rows [][]any) {
	for _, r := range reasons {
		rows = append(rows, []any{r.Text, r.Rule, durationCell(r.Since), durationCell(r.Left)})
	}
	return rows
}

// durationCell is a time that may not be known.
func durationCell(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(100 * time.Millisecond).String()
}

var (
	stepTitles   = []string{"ID#", "STEP", "SINCE", "FAILURES#", "LAST ERROR"}
	reasonTitles = []string{"REASON", "RULE", "SINCE", "UNTIL"}
)

func newClusterWhy(f *cli.Frame) *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use:   "why",
		Short: "What the governor does, and what it waits for",
		Long: `Shows the steps that are open, and why nothing else is done, such as "shard 3: d waits
for its snapshot, 41 %". Where it shows nothing all is as it should be. With --wait
it waits for that; a leadership that only rests, before it is moved to spread the
load, is not waited for.`,
		Example: `  signalbox cluster why

  # until nothing is left to do
  signalbox cluster why --wait`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if wait {
				return f.Stay(c, func(ctx context.Context, _ *cli.Connection, box *client.Client) error {
					return awaitNothing(ctx, f, admin.Of(box))
				})
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				why, err := admin.Of(box).Why(ctx)
				if err != nil {
					return err
				}
				return showWhy(f, why)
			})
		},
	}
	c.Flags().BoolVar(&wait, "wait", false,
		"wait until nothing is left to do, and say what that waits for; --timeout does not bound it")
	return c
}

// codeRest is that of a leadership which is not moved yet to spread the load.
const codeRest = "rest"

// awaitNothing waits until the governor has nothing to do, and says what it waits for whenever that changes.
func awaitNothing(ctx context.Context, f *cli.Frame, on *admin.Admin) error {
	for said := ""; ; {
		why, err := on.Why(ctx)
		if err != nil {
			return err
		}
		why.Reasons = slices.DeleteFunc(why.Reasons, func(r admin.Reason) bool { return r.Code == codeRest })
		if len(why.Steps)+len(why.Reasons) == 0 {
			return showWhy(f, why)
		}
		if text := waitsFor(why); text != said {
			f.Say("%s", text)
			said = text
		}
		if !sleepFor(ctx, waitEvery) {
			return context.Cause(ctx)
		}
	}
}

func showWhy(f *cli.Frame, why *admin.Why) error {
	text := "all is as it should be"
	if n := len(why.Steps); n > 0 {
		text = fmt.Sprintf("%d steps are open", n)
	} else if len(why.Reasons) > 0 {
		text = "it waits"
	}
	err := f.Fields(clusterWhyObject{clusterStepObjects(why.Steps), governorReasonObjects(why.Reasons)},
		cli.Field{Name: "governor", Cell: text})
	if err == nil {
		err = f.Section("Open steps", stepTitles, stepCells(why.Steps))
	}
	if err == nil {
		err = f.Section("What it waits for", reasonTitles, reasonCells(why.Reasons))
	}
	return err
}

func newClusterPlan(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "plan",
		Short: "What the governor would do next, without doing it",
		Long: `Plays what the governor would do if all went well, one step after the other, until
nothing is left to do, and shows why it ends there. Nothing is changed.`,
		Example: `  signalbox cluster plan`,
		Args:    cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				plan, err := admin.Of(box).Plan(ctx)
				if err != nil {
					return err
				}
				var rows [][]any
				for i, s := range plan.Steps {
					rows = append(rows, []any{i + 1, s.Text, s.Rule, durationCell(s.In)})
				}
				text := fmt.Sprintf("%d steps", len(plan.Steps))
				if plan.Cut {
					text += ", and more"
				}
				err = f.Fields(clusterPlanObject{clusterStepObjects(plan.Steps),
					governorReasonObjects(plan.Reasons), plan.Cut},
					cli.Field{Name: "plan", Cell: text})
				if err == nil {
					err = f.Section("Steps", []string{"#", "STEP", "RULE", "AFTER"}, rows)
				}
				if err == nil {
					err = f.Section("Why it ends there", reasonTitles, reasonCells(plan.Reasons))
				}
				return err
			})
		},
	}
}

func newClusterSteps(f *cli.Frame) *cobra.Command {
	var cancel uint64
	var hold time.Duration
	var subject string
	var flags actFlags
	c := &cobra.Command{
		Use:   "steps",
		Short: "List the open steps of the governor, or cancel one",
		Long: `Lists the steps that the governor carries out now. With --cancel one is ended, and for
the time of --hold none about the same is begun: what it has done until then stays,
and the governor looks at it anew. With --retry-now what has failed is tried again at
once; the SUBJECT is that of cluster why -o json.`,
		Example: `  signalbox cluster steps
  signalbox cluster steps --cancel 77 --hold 10m --reason "the network is being worked on"
  signalbox cluster steps --retry-now shard/3`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				on, by := admin.Of(box), admin.By(flags.by(f))
				switch {
				case cancel != 0:
					changed, err := on.CancelStep(ctx, cancel, hold, by)
					if err != nil {
						return err
					}
					reportAct(f, fmt.Sprintf("step %d", cancel), "over", changed)
					return nil
				case subject != "":
					if err := on.EndDelay(ctx, subject, by); err != nil {
						return err
					}
					reportAct(f, subject, "tried again", true)
					return nil
				}
				why, err := on.Why(ctx)
				if err != nil {
					return err
				}
				rows := f.Rows(stepTitles...)
				objects := clusterStepObjects(why.Steps)
				for i, cells := range stepCells(why.Steps) {
					if err := rows.Add(objects[i], cells...); err != nil {
						return err
					}
				}
				return rows.End()
			})
		},
	}
	c.Flags().Uint64Var(&cancel, "cancel", 0, "end the step of this id, `NUMBER`")
	c.Flags().DurationVar(&hold, "hold", time.Minute, "with --cancel: for how long no other step about the same is begun, `DURATION` up to 24h")
	c.Flags().StringVar(&subject, "retry-now", "", "try again at once what is about `SUBJECT`")
	flags.add(c, "history")
	return c
}
