package loadgen

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
)

var rolloutReportsKind = &kind{
	Info: Info{
		Name:      "rollout-reports",
		Summary:   "rollout instances report their progress; every report differs from the previous report",
		Operation: "a report",
		Checks:    "the rollout has the last report from every instance",
	},
	make: func() workload { return &rolloutReports{} }, defaults: func(c *Config) { orElse(&c.Callers, 512) },
}

// rolloutReports is the workload rollout-reports: every caller is an instance that repeatedly reports its status.
type rolloutReports struct {
	plain
	run       *run
	name      string
	instances []*reporter
}

// reporter is an instance, and a follower: reports from followers decide nothing.
type reporter struct {
	member *rollout.Member
	target *rollout.Target
	last   rollout.Status
	doubt  bool // the last report's outcome is unknown
}

// prepare publishes a version, joins all instances, and waits until every instance has the version as its target.
func (rr *rolloutReports) prepare(ctx context.Context, r *run) error {
	rr.run, rr.name = r, r.name("reports", 0)
	sessions, err := r.sessions(ctx, r.config.Callers)
	if err != nil {
		return err
	}
	rr.instances = make([]*reporter, len(sessions))
	r.step("joining with %d instances", len(sessions))
	if err := rr.join(ctx, sessions[0], 0); err != nil {
		return err
	}
	if _, err := rollout.Publish(ctx, sessions[0], rr.name, marked(r.config.Payload, first)); err != nil {
		return err
	}
	return each(ctx, len(sessions), func(ctx context.Context, i int) (err error) {
		if i > 0 {
			if err := rr.join(ctx, sessions[i], i); err != nil {
				return err
			}
		}
		x := rr.instances[i]
		if x.target, _, err = x.member.Ask(ctx, 0); err == nil && x.target == nil {
			err = fmt.Errorf("%w: instance %d got no target", errNotSeen, i)
		}
		return err
	})
}

func (rr *rolloutReports) join(ctx context.Context, s *client.Session, i int) error {
	m, err := openRollout(ctx, s, rr.name, instanceName(i))
	rr.instances[i] = &reporter{member: m}
	return err
}

func instanceName(i int) string { return fmt.Sprintf("instance-%d", i) }

// caller alternates between two reports, because a report equal to the last one would change nothing.
func (rr *rolloutReports) caller(i int) operation {
	x := rr.instances[i]
	return func(ctx context.Context) (err error) {
		x.doubt = true
		if x.last == rollout.Updating {
			x.last = rollout.OK
			err = x.member.Reached(ctx, x.target)
		} else {
			x.last = rollout.Updating
			err = x.member.Updating(ctx, x.target)
		}
		x.doubt = err != nil
		return err
	}
}

// check compares the rollout's record for every instance with the instance's last report.
func (rr *rolloutReports) check(ctx context.Context) error {
	known := make(map[string]rollout.Status)
	of := rollout.New(rr.run.fleet.client(0), rr.run.node, rr.name)
	for x, err := range of.Instances(ctx, onlyLocation, rollout.Consistency(client.Strict)) {
		if err != nil {
			return err
		}
		known[x.Name] = x.Report.Status
	}
	for i, x := range rr.instances {
		status, ok := known[instanceName(i)]
		if !ok || status != x.last && !x.doubt {
			rr.run.broken.addf("instance %d has reported last that it is %v, and the rollout knows %v, %v",
				i, x.last, status, ok)
		}
	}
	return nil
}
