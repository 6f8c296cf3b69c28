package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// act says who does something, and why. Both are kept in the history of the cluster, with the name of the token.
type act struct {
	Author string
	Reason string `need:"true" about:"why, for the history"`
}

func (a act) by() admin.By { return admin.By{Author: a.Author, Reason: a.Reason} }

type clusterRequest struct {
	Relaxed bool `about:"any host answers from its memory, also where no majority is left"`
}

type auditRequest struct {
	From  uint64 `about:"the number of the first entry; without it the newest are returned"`
	Limit int    `about:"how many at the most, up to 1000"`
}

type denialsRequest struct {
	Limit int `about:"how many of each host at the most, up to 1000"`
}

type denials struct {
	Items  []admin.Denial
	Silent []string `about:"the addresses of hosts that did not answer"`
}

// hostRequest is about one host.
type hostRequest struct {
	Host string `need:"true" about:"the name of the host"`
	act
}

type expelRequest struct {
	hostRequest
	Force bool `about:"also while it is online"`
}

type replaceRequest struct {
	hostRequest
	Successor string `need:"true" about:"the host that takes its place"`
}

type domainRequest struct {
	hostRequest
	Domain string `need:"true" about:"its failure domain, such as dc=a,rack=1"`
}

type transferRequest struct {
	Shard uint64 `need:"true" about:"0 for the meta shard"`
	hostRequest
}

type stepRequest struct {
	ID   uint64        `need:"true" about:"the number of the step"`
	Hold time.Duration `about:"for how long no other step about the same is begun"`
	act
}

// policyRequest has what is to be changed. Members are pointers, since 0 says something of its own.
type policyRequest struct {
	Voters       *int           `about:"how many replicas of a shard vote: 1, 3 or 5; 0 chooses by the number of hosts"`
	OfflineAfter *time.Duration `name:"offline_after" about:"how long a host is silent before it counts as failed"`
	ReplaceAfter *time.Duration `name:"replace_after" about:"how long a failed voter keeps its vote; 0 for ever"`
	StableFor    *time.Duration `name:"stable_for" about:"how long a learner must have been up to date before it votes"`
	BalanceEvery *time.Duration `name:"balance_every" about:"how long a leadership rests; 0 leaves leaders alone"`
	Copies       *int           `about:"how many new replicas may be filled at once"`
	act
}

// change puts what is given into a policy.
func (pr *policyRequest) change(p *admin.Policy) {
	set(&p.Voters, pr.Voters)
	set(&p.OfflineAfter, pr.OfflineAfter)
	set(&p.ReplaceAfter, pr.ReplaceAfter)
	set(&p.StableFor, pr.StableFor)
	set(&p.BalanceEvery, pr.BalanceEvery)
	set(&p.Copies, pr.Copies)
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

type subjectRequest struct {
	Subject string `need:"true" about:"that of a reason, such as shard/3"`
	act
}

// hostStatus is how a host is. Its load has the form that loads have everywhere.
type hostStatus struct {
	client.HostStatus
	Load *Load `about:"what it did lately; not there where it does not say"`
}

func newHostStatus(of client.HostStatus) hostStatus {
	h := hostStatus{HostStatus: of}
	if of.Load != nil {
		load := newLoad(of.Load)
		h.Load = &load
	}
	return h
}

// clusterRoutes are about hosts, and what governs them.
func clusterRoutes() []route {
	const group = "Hosts"
	return []route{
		get("/cluster", group, "see", "Describes hosts, shards, redundancy, and what is not as it should be",
			func(ctx context.Context, c *call, q *clusterRequest) (*admin.Cluster, error) {
				var options []admin.DescribeOption
				if q.Relaxed {
					options = append(options, admin.Relaxed())
				}
				return c.caller.admin().Describe(ctx, options...)
			}),
		get("/hosts", group, "see", "Asks all hosts how they are",
			func(ctx context.Context, c *call, _ *none) (l list[hostStatus], err error) {
				hosts, err := c.caller.Status(ctx)
				for i := range hosts {
					l.Items = append(l.Items, newHostStatus(hosts[i]))
				}
				return l, err
			}),
		get("/plan", group, "see", "Shows what the governor would do next",
			func(ctx context.Context, c *call, _ *none) (*admin.Plan, error) { return c.caller.admin().Plan(ctx) }),
		get("/why", group, "see", "Shows which steps are open, and what the governor waits for",
			func(ctx context.Context, c *call, _ *none) (*admin.Why, error) { return c.caller.admin().Why(ctx) }),
		onHost("/host/drain", "Has a host hand over all that it leads, and go offline", (*admin.Admin).Drain),
		onHost("/host/undrain", "Takes a drain back", (*admin.Admin).Undrain),
		onHost("/host/cordon", "Has a host get no more replicas, votes and leaderships", (*admin.Admin).Cordon),
		onHost("/host/uncordon", "Takes a cordon back", (*admin.Admin).Uncordon),
		changing("/host/expel", group, "Makes a host leave for ever",
			func(ctx context.Context, a *admin.Admin, q *expelRequest) (bool, error) {
				return a.Expel(ctx, q.Host, q.Force, q.by())
			}),
		changing("/host/replace", group, "Has a host take the place of one that is gone",
			func(ctx context.Context, a *admin.Admin, q *replaceRequest) (bool, error) {
				return a.Replace(ctx, q.Host, q.Successor, q.by())
			}),
		changing("/host/alter", group, "Gives a host another failure domain",
			func(ctx context.Context, a *admin.Admin, q *domainRequest) (bool, error) {
				return a.Alter(ctx, q.Host, q.Domain, q.by())
			}),
		changing("/shard/transfer", group, "Asks for another leader of a shard",
			func(ctx context.Context, a *admin.Admin, q *transferRequest) (bool, error) {
				return a.Transfer(ctx, q.Shard, q.Host, q.by())
			}),
		changing("/step/cancel", group, "Ends an open step of the governor",
			func(ctx context.Context, a *admin.Admin, q *stepRequest) (bool, error) {
				return a.CancelStep(ctx, q.ID, q.Hold, q.by())
			}),
		changing("/step/retry", group, "Has the governor try again at once what has failed",
			func(ctx context.Context, a *admin.Admin, q *subjectRequest) (bool, error) {
				return true, a.EndDelay(ctx, q.Subject, q.by())
			}),
		post("/policy/set", group, "cluster", "Changes what is given of the policy of the governor",
			func(ctx context.Context, c *call, q *policyRequest) (*admin.Policy, error) {
				return c.caller.admin().SetPolicy(ctx, q.change, q.by())
			}),
	}
}

// changing makes a row for what an operator of the cluster does.
func changing[Q any](
	path, group, does string, f func(context.Context, *admin.Admin, *Q) (bool, error),
) route {
	return governing(path, group, "cluster", does, f)
}

// onHost is changing for what is done with one host.
func onHost(path, does string, f func(*admin.Admin, context.Context, string, admin.By) (bool, error)) route {
	return changing(path, "Hosts", does, func(ctx context.Context, a *admin.Admin, q *hostRequest) (bool, error) {
		return f(a, ctx, q.Host, q.by())
	})
}

// historyRoutes are about what was done, what was refused, and backups.
func historyRoutes() []route {
	const group = "History and backups"
	return []route{
		get("/audit", group, "cluster", "Lists changes of the cluster, the oldest first", readAudit),
		get("/denials", group, "admin", "Lists the latest requests that hosts have refused for want of a right",
			func(ctx context.Context, c *call, q *denialsRequest) (d denials, err error) {
				d.Items, d.Silent, err = c.caller.admin().Denials(ctx, boundedLimit(q.Limit))
				return d, err
			}),
		stream(http.MethodPost, "/backup", group, "backup",
			"Returns the state of all shards as a file; one that ends early is of no use", "application/octet-stream",
			backup),
	}
}

const (
	// maxHistory is how many entries of a history are returned at once.
	maxHistory = 1000
	// backupTimeout is how long a backup may take, and backupWrite how long each part of it.
	backupTimeout = time.Hour
	backupWrite   = time.Minute
)

func boundedLimit(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, maxHistory)
}

func readAudit(ctx context.Context, c *call, q *auditRequest) (l list[admin.Entry], err error) {
	if q.From == 0 {
		l.Items, err = c.caller.admin().LatestAudit(ctx, boundedLimit(q.Limit))
		return l, err
	}
	return collect(c.caller.admin().Audit(ctx, q.From), boundedLimit(q.Limit))
}

// backup writes a backup. An error before the first byte is an answer; a later one breaks the connection, so that no
// reader takes a part for the whole.
func backup(c *call, _ *none) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), backupTimeout)
	defer cancel()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{})
	w := &backupWriter{w: c.w, control: control}
	_, err := c.caller.admin().Backup(ctx, w, nil)
	switch {
	case err == nil:
		return w.finish()
	case !w.begun:
		return err
	}
	c.gateway.log.Warn("a backup over HTTP was broken off", "error", err)
	panic(http.ErrAbortHandler)
}

// backupWriter sends headers with the first byte, and gives the reader time for each part.
type backupWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// Write implements io.Writer.
func (b *backupWriter) Write(part []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", "application/octet-stream")
		b.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="signalbox-%s.backup"`,
			time.Now().UTC().Format("20060102T150405Z")))
		b.w.Header().Set("Cache-Control", "no-store")
	}
	_ = b.control.SetWriteDeadline(time.Now().Add(backupWrite))
	return b.w.Write(part)
}

func (b *backupWriter) finish() error {
	if !b.begun {
		return refuse(protocol.StatusInternal, io.ErrUnexpectedEOF.Error())
	}
	return nil
}
