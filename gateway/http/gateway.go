package http

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/internal/allowedhosts"
	"github.com/signalbox/signalbox/internal/auditlimit"
	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/internal/httplimit"
)

// Config configures a Gateway.
type Config struct {
	// Open creates a cluster client for a token, which is empty for requests without a token. The client's first round
	// trip shows whether hosts accept the token.
	Open func(ctx context.Context, token string) (*client.Client, error)
	// Names are the host names that requests may use, besides addresses and localhost.
	Names allowedhosts.Names
	// Secure: the gateway is reached by TLS.
	Secure bool
	// Actions lets browsers change something without a token.
	Actions bool
	// Note writes an act with its reason to the cluster's audit log; nil if there is no audit log.
	Note func(ctx context.Context, act Act) error
	// Files are the console pages; nil disables the console.
	Files fs.FS
	// Proxies are trusted to report their clients' addresses.
	Proxies httplimit.Proxies
	// Connections is the maximum number of connections. Default: 2,048.
	Connections int
	// Log receives faults. Nil means no log.
	Log *slog.Logger
}

// Gateway serves the HTTP API. It is an http.Handler, and safe for concurrent use.
type Gateway struct {
	config  Config
	log     *slog.Logger
	routes  []route
	mux     *http.ServeMux
	turns   *fairshare.Turns // of requests
	waits   *fairshare.Pool  // waiting requests and event streams
	callers callers
	stays   *stays
	cookies cookies
	// answers is the memory for responses, shown the memory for views' newest responses.
	answers, shown *budget
	// calls and streams count the requests and the event streams under way.
	calls, streams atomic.Int64
	// unfinished counts requests whose bodies did not arrive, turnedAway requests that got no turn in time.
	unfinished, turnedAway atomic.Uint64
	loads                  loads
	whole                  wholeLoads
	history                history
	measured               chan struct{} // has a token when the host beside the gateway was measured
	acts                   acts
	working                sync.WaitGroup  // for goroutines that run until Close
	ctx                    context.Context // ends with Close
	cancel                 context.CancelFunc
}

// New makes a gateway. Close ends the gateway.
func New(config Config) *Gateway {
	g := &Gateway{
		config: config, log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)), routes: table(),
		mux: http.NewServeMux(), callers: newCallers(config.Open), measured: make(chan struct{}, 1),
		turns: fairshare.NewTurns(callsPerProcessor*runtime.GOMAXPROCS(0), longCall),
		waits: fairshare.NewFixedPool(maxWaits), stays: newStays(maxStays),
		answers: &budget{limit: answerBytes}, shown: &budget{limit: viewBytes},
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.working.Go(g.keepWhole)
	if config.Note != nil {
		g.acts.queue = make(chan Act, auditlimit.AtOnce)
		g.working.Go(g.runActs)
	}
	for i := range g.routes {
		r := &g.routes[i]
		g.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, request *http.Request) {
			g.serveRoute(r, w, request)
		})
	}
	g.mux.HandleFunc("GET "+version+"/openapi.json", serveDocument)
	g.mux.HandleFunc("/", g.serveOther)
	if config.Files != nil {
		g.mux.Handle("GET /", pages(config.Files))
		g.mux.HandleFunc("GET "+version+"/", g.serveOther)
	}
	return g
}

// writeMetrics writes the gateway's metrics.
func (g *Gateway) writeMetrics(w io.Writer) {
	waits := g.waits.Counts()
	fmt.Fprintf(w, "signalbox_http_requests_in_flight %d\nsignalbox_http_event_streams %d\nsignalbox_http_waits %d\n",
		g.calls.Load(),
		g.streams.Load(), waits.Held)
	fmt.Fprintf(w, "signalbox_http_waits_ended_total %d\n", waits.Taken)
	fmt.Fprintf(w, "signalbox_http_answer_bytes %d\nsignalbox_http_view_bytes %d\n", g.answers.bytes(),
		g.shown.bytes())
	for reason, count := range map[string]uint64{
		"requests": g.turnedAway.Load(), "waits": waits.Refused, "body": g.unfinished.Load(),
		"answers": g.answers.refused.Load(),
	} {
		fmt.Fprintf(w, "signalbox_http_requests_rejected_total{reason=%q} %d\n", reason, count)
	}
}

// Close ends all requests in progress, detaches sessions with the rest of their timeouts, and closes the clients.
func (g *Gateway) Close() {
	g.cancel()
	g.working.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	g.stays.close(ctx)
	g.callers.close()
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // unless the body is read: nothing waits for an unwanted body
	}
	if refusal := g.admit(r); refusal != nil {
		refusal.write(w)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// serveRoute serves a request with its token's rights.
func (g *Gateway) serveRoute(of *route, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	if r.Method == http.MethodHead && of.streams != "" {
		g.serveOther(w, r) // endless streams have no head
		return
	}
	c := &call{
		gateway: g, w: w, conn: httplimit.Of(r), from: g.config.Proxies.Client(r), address: r.RemoteAddr,
	}
	if c.from != httplimit.Address(r.RemoteAddr) {
		c.address = c.from.String() + " through " + r.RemoteAddr
	}
	if of.audited() {
		ctx = raw.ForwardedFor(ctx, c.address)
	}
	r = r.WithContext(ctx)
	c.r = r
	c.conn.From(c.from)
	err := g.identify(c, of)
	if c.caller != nil {
		defer g.callers.release(c.caller)
	}
	c.conn.Identify(c.from, c.identity())
	defer func() { c.room.leave() }()
	if err == nil {
		err = c.receive()
	}
	if err == nil {
		err = c.serveInTurn(of)
	}
	if err != nil {
		g.refuse(c, err)
		return
	}
	c.deliver()
}

// refuse responds to a rejected request. A token that hosts no longer accept is removed, together with its sign-in.
func (g *Gateway) refuse(c *call, err error) {
	err = g.callers.refusedNow(c.caller, c.token, err)
	p := problemOf(err)
	if c.r.Method != http.MethodPost {
		p = readProblem(err)
	}
	if p.Code == http.StatusUnauthorized {
		c.conn.Identify(c.from, "")
		if c.byCookie {
			g.forget(c.w, c.r)
		}
	}
	p.write(c.w)
}

// identify finds a request's caller.
func (g *Gateway) identify(c *call, of *route) error {
	token, byCookie, err := g.token(c.r)
	c.token, c.byCookie = token, byCookie
	if err != nil || of.group == groupConsole {
		return err
	}
	if of.changes() {
		if err := g.admitChange(c.r, token, byCookie); err != nil {
			return err
		}
	}
	began := time.Now()
	ctx, cancel := c.within(c.r.Context())
	defer cancel()
	c.caller, err = g.callers.acquire(ctx, token, c.from)
	c.spent = time.Since(began)
	return err
}
