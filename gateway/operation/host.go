package operation

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// act records the author and the reason. The cluster's audit log stores both with the token name.
type act struct {
	Author string
	Reason string `need:"true" about:"Reason recorded in the audit log"`
}

func (a act) by() admin.ChangeInfo { return admin.ChangeInfo{Author: a.Author, Reason: a.Reason} }

// clusterRequest asks for a cluster description. A relaxed response can be old, and is the only one available without a
// quorum.
type clusterRequest struct {
	Relaxed bool `about:"Let any host answer from its local replica, even without a quorum"`
}

// auditRequest asks for audit log entries: the newest, or those from a number on.
type auditRequest struct {
	From  uint64 `about:"Id of the first entry. Default: return the newest entries" help:"All changes from this 'NUMBER' on"`
	Limit int    `about:"Maximum entries, up to 1000" help:"Maximum 'NUMBER' of changes. Default without --from: the newest 100"`
}

// denialsRequest asks for the latest refusals.
type denialsRequest struct {
	Limit int `default:"100" about:"Maximum entries per host, up to 1000" help:"Maximum 'NUMBER' of entries"`
}

// denials are the rejections that hosts keep in memory. Silent hosts, which make the list incomplete, are named.
type denials struct {
	Items            []admin.Denial
	More             bool     `about:"The list has more items"`
	UnreachableHosts []string `about:"Addresses of unreachable hosts"`
}

// hostRequest is about one host.
type hostRequest struct {
	Host string `need:"true" about:"Host name"`
	act
}

// expelRequest permanently removes a host. A host that is online should be drained first, so it is only expelled with
// Force.
type expelRequest struct {
	hostRequest
	Force bool `about:"Expel the host even if it is online"`
}

// replaceRequest replaces a lost host by a successor.
type replaceRequest struct {
	Host string `need:"true" arg:"OLD" about:"Host name"`
	act
	Successor string `need:"true" arg:"NEW" about:"Replacement host's name"`
}

// hostAlterRequest changes a host's failure domain or weight. The governor then spreads voters by the new labels, and
// data shard replicas by the new weight.
type hostAlterRequest struct {
	hostRequest
	Domain *string `about:"Failure domain, such as dc=a,rack=1" flag:"failure-domain" help:"Failure 'DOMAIN': KEY=VALUE, separated by commas. Empty: none"`
	Weight *int    `about:"Weight for the placement of data shard replicas, 0 to 1000. 0 places no replicas on the host" help:"Weight for the placement of data shards, 'NUMBER' from 0 to 1000. Default: 100"`
}

// alter makes the given changes.
func (har *hostAlterRequest) alter(ctx context.Context, a *admin.Admin) (changed bool, err error) {
	if har.Domain == nil && har.Weight == nil {
		return false, BadRequest("give a failure domain or a weight")
	}
	if har.Domain != nil {
		changed, err = a.Alter(ctx, har.Host, *har.Domain, har.by())
	}
	if har.Weight != nil && err == nil {
		var weighed bool
		weighed, err = a.SetWeight(ctx, har.Host, *har.Weight, har.by())
		changed = changed || weighed
	}
	return changed, err
}

// transferRequest asks for another shard leader: the host must be online and a voter in the shard.
type transferRequest struct {
	Shard uint64 `need:"true" about:"Shard id. 0 is the meta shard"`
	hostRequest
}

// recoverRequest rebuilds a shard that permanently lost its quorum.
type recoverRequest struct {
	Shard          uint64 `need:"true" about:"Data shard id" arg:"SHARD" form:"the number of a data shard; the meta shard is recovered with the whole cluster, by signalbox cluster recover"`
	AcceptDataLoss bool   `about:"Rebuild the shard empty if no host has a replica"`
	// AcceptOverlap ends a rebuilt shard's waiting period.
	AcceptOverlap bool `name:"accept_overlap" flag:"accept-overlap" about:"End the wait of a rebuilt shard. Two clients may then own the same semaphore"`
	act
}

// recovered is how a shard goes on.
type recovered struct {
	Shard          uint64 `json:"shard"`
	Host           uint64 `json:"host,omitempty" about:"Surviving host's id"`
	GrantsAfter    string `json:"grants_after,omitempty" about:"Minimum time for which the shard grants nothing"`
	LongestTimeout string `json:"longest_timeout,omitempty" about:"Longest timeout of a session that a client may still trust"`
	Session        string `json:"session,omitempty" about:"Session with the longest timeout, if known"`
}

// run rebuilds the shard, or ends its waiting period.
func (r *recoverRequest) run(ctx context.Context, a *admin.Admin) (*recovered, error) {
	if r.AcceptOverlap {
		return &recovered{Shard: r.Shard}, a.AcceptOverlap(ctx, r.Shard, r.by())
	}
	is, err := a.RecoverShard(ctx, r.Shard, r.AcceptDataLoss, r.by())
	if err != nil {
		return nil, err
	}
	how := &recovered{Shard: r.Shard, Host: is.Host, GrantsAfter: is.Wait.String(), LongestTimeout: is.Longest.String()}
	if is.Session != 0 {
		how.Session = strconv.FormatUint(is.Session, 10)
	}
	return how, nil
}

// showRecovered shows until when the shard grants nothing, and because of which session.
func showRecovered(q *recoverRequest, r *recovered) Shown {
	if q.AcceptOverlap {
		return Shown{Fields: []Field{{"SHARD", r.Shard}, {"GRANTS", "at once; two clients may own the same semaphore"}}}
	}
	why := "a session may have a timeout of " + r.LongestTimeout
	if r.Session != "" {
		why = "session " + r.Session + " has a timeout of " + r.LongestTimeout
	}
	return Shown{Fields: []Field{
		{"SHARD", r.Shard}, {"HOST", r.Host}, {"GRANTS NOTHING FOR", "at least " + r.GrantsAfter},
		{"BECAUSE", "lost hosts are expelled first, and " + why},
		{"TIME LEFT", "signalbox check"},
		{"END EARLY", fmt.Sprintf("signalbox shard recover %d --accept-overlap", r.Shard)},
	}}
}

// recoverQuestion describes what a shard's recovery expels and gives up.
func recoverQuestion(c *admin.Cluster, id uint64) (string, error) {
	at := slices.IndexFunc(c.Shards, func(s admin.Shard) bool { return s.ID == id })
	if at < 0 {
		return "", fmt.Errorf("%w: shard %d does not exist; signalbox shard list lists the "+
			"shards", client.ErrNotFound, id)
	}
	var lost []string
	for _, p := range c.Shards[at].Replicas {
		h := c.Host(p.Host)
		if h != nil && !h.Alive && h.Target.State != admin.Expelled && p.Role == admin.Voter {
			lost = append(lost, h.Name)
		}
	}
	if len(lost) == 0 || !c.Observed {
		return fmt.Sprintf("this rebuilds shard %d, and loses changes that only lost hosts had", id), nil
	}
	return fmt.Sprintf("this expels host %s, which shard %d has lost, and loses changes that only lost hosts had",
		strings.Join(lost, " and host "), id), nil
}

// stepRequest cancels a governor step, and delays other steps for the subject for a while.
type stepRequest struct {
	ID   uint64        `need:"true" about:"Step id"`
	Hold time.Duration `about:"Time before the governor may open a step with the same subject"`
	act
}

// policyRequest lists the settings to change. Members are pointers, since 0 is a valid value.
type policyRequest struct {
	Voters       *int           `about:"Voters per shard: 1, 3 or 5. 0 derives the number from the hosts"`
	OfflineAfter *time.Duration `name:"offline_after" about:"Time without contact after which a host is considered failed"`
	ReplaceAfter *time.Duration `name:"replace_after" about:"Time after which a failed voter is replaced. 0 is never"`
	StableFor    *time.Duration `name:"stabilization" about:"Time that a learner must be up to date before it becomes a voter"`
	BalanceEvery *time.Duration `name:"leader_rebalance" about:"Minimum time between leadership transfers that balance load. 0 turns them off"`
	Copies       *int           `name:"max_replica_builds" about:"Maximum concurrent replica builds"`
	Replicas     *int           `about:"Replicas per data shard: 1, 3 or 5. 0 is one on every host"`
	Tier         *string        `name:"meta_voter_label" about:"Only hosts with this label, such as role=control, vote in the meta shard. Empty: all hosts"`
	Force        bool           `about:"Required for 1 replica: losing a host then loses its shards"`
	act
}

// change puts the given members into a policy.
func (pr *policyRequest) change(p *admin.Policy) {
	set(&p.Voters, pr.Voters)
	set(&p.OfflineAfter, pr.OfflineAfter)
	set(&p.ReplaceAfter, pr.ReplaceAfter)
	set(&p.StableFor, pr.StableFor)
	set(&p.BalanceEvery, pr.BalanceEvery)
	set(&p.Copies, pr.Copies)
	set(&p.Replicas, pr.Replicas)
	set(&p.Tier, pr.Tier)
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// subjectRequest ends the delay after failed steps for a subject.
type subjectRequest struct {
	Subject string `need:"true" about:"Step subject, such as shard/3"`
	act
}

// healthIssues lists health issues, as many as fit in a page.
type healthIssues struct {
	*admin.HealthIssues
	More bool `about:"The list has more items"`
}

// worstHealthIssues returns the worst health issues that fit in a page.
func worstHealthIssues(ctx context.Context, c *client.Client, _ *None) (l healthIssues, err error) {
	if l.HealthIssues, err = admin.New(c).HealthIssues(ctx); err != nil {
		return l, err
	}
	page, err := listed(ctx, l.Items, nil)
	l.Items, l.More = page.Items, page.More
	return l, err
}

// WhyReport lists the governor's work and obstacles, and the health issues.
type WhyReport struct {
	*admin.Why
	*admin.HealthIssues
	More bool `about:"The list has more items"`
}

func why(ctx context.Context, c *client.Client, _ *None) (r WhyReport, err error) {
	if r.Why, err = admin.New(c).Why(ctx); err != nil {
		return r, err
	}
	listed, err := worstHealthIssues(ctx, c, nil)
	r.HealthIssues, r.More = listed.HealthIssues, listed.More
	return r, err
}

// cluster are the operations on hosts and on the cluster's governor.
func cluster() []Operation {
	return group("Hosts",
		read("/cluster", protocol.KindClusterDescribe,
			"Describes hosts, shards, redundancy and health issues",
			func(ctx context.Context, c *client.Client, q *clusterRequest) (*admin.Cluster, error) {
				return admin.New(c).Describe(ctx, given(q.Relaxed, admin.Relaxed())...)
			}),
		read("/health", protocol.KindHealth, "Lists health issues reported by all hosts",
			worstHealthIssues),
		read("/cluster/plan", protocol.KindClusterPlan, "Returns the steps that the governor would take next",
			func(ctx context.Context, c *client.Client, _ *None) (*admin.Plan, error) {
				return admin.New(c).Plan(ctx)
			}),
		read("/why", protocol.KindClusterWhy,
			"Returns health issues, open steps, and what the governor waits for", why),
		onHost("/host/drain", "Drains a host: it transfers its leaderships and goes offline", (*admin.Admin).Drain),
		onHost("/host/undrain", "Undrains a host", (*admin.Admin).Undrain),
		onHost("/host/cordon", "Cordons a host: no more replicas, votes, leaderships", (*admin.Admin).Cordon, Face{
			Use: "host cordon HOST", Short: "Give a host no new replicas and leaderships",
			Long: `Tells the governor to give a host no further replicas, votes and leaderships. Existing
ones stay on the host.`,
			Example: `  signalbox host cordon b --reason "its disk is slow"`,
			Done:    "host HOST is cordoned",
		}),
		onHost("/host/uncordon", "Uncordons a host", (*admin.Admin).Uncordon, Face{
			Use: "host uncordon HOST", Short: "Cancel a cordon",
			Long:    "Tells the governor to treat a cordoned host like any other host again.",
			Example: "  signalbox host uncordon b",
			Done:    "host HOST is uncordoned",
		}),
		govern("/host/expel", protocol.KindHostUpdate, "Expels a host permanently",
			func(ctx context.Context, a *admin.Admin, q *expelRequest) (bool, error) {
				return a.Expel(ctx, q.Host, q.Force, q.by())
			}),
		govern("/host/replace", protocol.KindHostUpdate, "Replaces a permanently lost host with another host",
			func(ctx context.Context, a *admin.Admin, q *replaceRequest) (bool, error) {
				return a.Replace(ctx, q.Host, q.Successor, q.by())
			},
			Face{
				Use: "host replace OLD NEW", Short: "Replace a lost host by another host",
				Long: `Expels the lost host OLD, and lets NEW take over its replicas. NEW must be a cluster
member already. The command is refused while OLD answers.

To replace a host whose disk was lost by a host with an empty data directory, name the
old host when the new host joins: signalbox serve --join HOST:PORT --name b --replace b.`,
				Example: "  signalbox host replace b d",
				Done:    "host OLD is replaced",
			}),
		govern("/host/alter", protocol.KindHostUpdate, "Changes a host's failure domain or weight",
			func(ctx context.Context, a *admin.Admin, q *hostAlterRequest) (bool, error) { return q.alter(ctx, a) },
			Face{
				Use:   "host alter HOST [--failure-domain] [--weight]",
				Form:  "alter HOST [--failure-domain KEY=VALUE,...] [--weight NUMBER]",
				Short: "Change the failure domain or the weight of a host",
				Long: `--failure-domain sets labels by key, such as dc=a,rack=1. Hosts that can fail together
share a value. The governor spreads the voters of each shard over the values. Every host
must have the same keys.

--weight sets the host's share of data shard replicas, if some shards have replicas on
some hosts only (signalbox cluster policy set --replicas). The default is 100; a host
with 200 gets twice as many replicas as a host with 100, and a host with 0 gives up its
replicas.`,
				Example: "  signalbox host alter b --failure-domain dc=a,rack=1\n  signalbox host alter b --weight 200",
				Done:    "host HOST is altered",
			}),
		govern("/shard/transfer-leader", protocol.KindShardTransferLeader, "Transfers a shard's leadership",
			func(ctx context.Context, a *admin.Admin, q *transferRequest) (bool, error) {
				return a.TransferLeader(ctx, q.Shard, q.Host, q.by())
			}),
		listSlots(), moveSlot(),
		change("/shard/recover", protocol.KindShardRecover, "Rebuilds a shard that lost its quorum permanently",
			func(ctx context.Context, c *client.Client, q *recoverRequest) (*recovered, error) {
				return q.run(ctx, admin.New(c))
			},
			Face{
				Use:   "shard recover SHARD [--accept-data-loss] [--accept-overlap]",
				Short: "Rebuild a shard that lost its quorum permanently",
				Long: `For a data shard that lost most of its hosts permanently while the rest of the cluster
runs. The hosts of the lost voters are expelled, which is final. The surviving host with
the most advanced state continues alone, and the governor adds replicas. Changes that
only lost hosts had are lost: owners and waiters may be missing, and sessions with their
home in the shard end. Later fencing tokens are larger than all earlier tokens.

The rebuilt shard grants nothing while a client may still trust an old holding. The wait
starts when the lost hosts are expelled (31 seconds) and all other hosts have applied
the command. The wait lasts for the longest session timeout plus the longest grace
period. The command prints the minimum wait and the session that causes it; signalbox
check shows the time left. Switch the lost hosts off, or make sure that they reach the
other hosts if they run again: they exit then.

One session with a timeout of half an hour makes the shard wait half an hour. With
--accept-overlap the shard grants at once, and other shards release what the shard's
sessions held: unreachable clients may continue to use holdings that other clients get.
Only fencing tokens stop them.

The command is refused while a lost host may come back, and while a majority answers. To
recover the meta shard, recover the whole cluster: signalbox cluster recover.`,
				Example: `  signalbox shard recover 7 --reason "hosts d and e burnt"
  signalbox shard recover 7 --accept-data-loss
  signalbox shard recover 7 --accept-overlap --reason "the workers are switched off"`,
				Show: show(showRecovered),
				Confirm: confirm(func(ctx context.Context, c *client.Client, q *recoverRequest) (string, error) {
					if q.AcceptOverlap {
						return fmt.Sprintf("this lets shard %d grant units that clients may still own: two "+
							"clients may own the same semaphore", q.Shard), nil
					}
					cluster, err := admin.New(c).Describe(ctx)
					if err != nil {
						return "", err
					}
					return recoverQuestion(cluster, q.Shard)
				}),
			}),
		govern("/cluster/step/cancel", protocol.KindStepCancel, "Cancels an open governor step",
			func(ctx context.Context, a *admin.Admin, q *stepRequest) (bool, error) {
				return a.CancelStep(ctx, q.ID, q.Hold, q.by())
			}),
		govern("/cluster/step/retry", protocol.KindStepCancel, "Retries a failed governor step immediately",
			func(ctx context.Context, a *admin.Admin, q *subjectRequest) (bool, error) {
				return true, a.RetryStep(ctx, q.Subject, q.by())
			}),
		change("/cluster/policy/set", protocol.KindPolicySet, "Changes the given fields of the governor policy",
			func(ctx context.Context, c *client.Client, q *policyRequest) (*admin.Policy, error) {
				if q.Replicas != nil && *q.Replicas == 1 && !q.Force {
					return nil, BadRequest("with 1 replica, losing a host loses its shards; add force to accept " +
						"the risk")
				}
				return admin.New(c).SetPolicy(ctx, q.change, q.by())
			}),
	)
}

// onHost creates the row for an operation on one host.
func onHost(
	path, does string, run func(*admin.Admin, context.Context, string, admin.ChangeInfo) (bool, error), faces ...Face,
) Operation {
	return govern(path, protocol.KindHostUpdate, does,
		func(ctx context.Context, a *admin.Admin, q *hostRequest) (bool, error) {
			return run(a, ctx, q.Host, q.by())
		}, faces...)
}

// history are the operations that list changes and rejections.
func history() []Operation {
	return group("History and backups",
		audit(),
		read("/access/denials", protocol.KindAccessDenials,
			"Lists the latest requests denied for a missing permission",
			func(ctx context.Context, c *client.Client, q *denialsRequest) (d denials, err error) {
				all, silent, err := admin.New(c).Denials(ctx, bounded(q.Limit, usualHistory, maxHistory))
				if err != nil {
					return d, err
				}
				page, err := listed(ctx, all, nil)
				return denials{Items: page.Items, More: page.More, UnreachableHosts: silent}, err
			}),
	)
}

// audit is the operation that lists changes. A command without a limit lists all entries from a number on; over HTTP
// the response size is limited.
func audit() Operation {
	o := read("/cluster/audit", protocol.KindAuditRead, "Lists the cluster's audit log, oldest entry first",
		func(ctx context.Context, c *client.Client, q *auditRequest) (List[admin.Entry], error) {
			if q.From == 0 {
				latest, err := admin.New(c).LatestAudit(ctx, bounded(q.Limit, usualHistory, maxHistory))
				return listed(ctx, latest, err)
			}
			return collect(ctx, admin.New(c).Audit(ctx, q.From), bounded(q.Limit, usualHistory, maxHistory), nil)
		},
		Face{
			Use: "cluster audit [--from] [--limit]", Short: "Show the audit log: what changed, by whom and why",
			Long: `Shows changes of hosts, replicas, policy and join tokens, and administrative actions of
clients: time, action, author and reason. The cluster keeps the last 10,000 entries.`,
			Example: `  signalbox cluster audit
  signalbox cluster audit --limit 200
  signalbox cluster audit --from 1 -o json`,
			Table: table(func(e admin.Entry) []any {
				return []any{e.ID, e.At, e.Event, e.HostName, e.Text, e.Author, e.Reason}
			}, "NUMBER#", "TIME", "EVENT", "HOST", "WHAT", "BY", "WHY"),
		})
	listed := o.Run
	o.All = func(ctx context.Context, c *client.Client, request any) iter.Seq2[any, error] {
		q := request.(*auditRequest)
		if q.From > 0 && q.Limit <= 0 {
			return Changed(admin.New(c).Audit(ctx, q.From), anyOf)
		}
		return func(yield func(any, error) bool) {
			answer, err := listed(ctx, c, q)
			if err != nil {
				yield(nil, err)
				return
			}
			Changed(ready(answer.(List[admin.Entry]).Items), anyOf)(yield)
		}
	}
	return o
}

// usualHistory is the default number of returned audit entries, and maxHistory the maximum limit.
const (
	usualHistory = 100
	maxHistory   = 1000
)
