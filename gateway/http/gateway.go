package http

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/internal/httpdoor"
	"github.com/signalbox/signalbox/internal/httpname"
)

// Config is what a Gateway is made of.
type Config struct {
	// Open makes a client of the cluster for one token, which is empty where a request shows none. Its first round trip
	// says whether hosts accept the token.
	Open func(ctx context.Context, token string) (*client.Client, error)
	// Names are those that the gateway may be asked for by, besides addresses and localhost.
	Names httpname.Names
	// Secure: it is reached by TLS.
	Secure bool
	// Actions lets browsers change something without a token.
	Actions bool
	// Note has the history of the cluster say what was done for a reason; nil where there is no history to write to.
	Note func(ctx context.Context, act Act) error
	// Files are the pages of the console; nil for none.
	Files fs.FS
	// Proxies are trusted to name the addresses of their clients.
	Proxies httpdoor.Proxies
	// Connections is how many there may be; 2,048 where it is not given.
	Connections int
	// Log receives what goes wrong. Nil means no log.
	Log *slog.Logger
}

// Gateway serves the HTTP API. It is an http.Handler, and safe for use by many goroutines.
type Gateway struct {
	config  Config
	log     *slog.Logger
	routes  []route
	mux     *http.ServeMux
	calls   places
	callers callers
	stays   *stays
	cookies cookies
	streams places
	// unfinished counts requests whose bodies did not come.
	unfinished atomic.Uint64
	loads      loads
	whole      wholeLoads
	measured   chan struct{} // has one when the host beside the gateway was measured
	acts       acts
	working    sync.WaitGroup  // for what runs until Close
	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
}

// New makes a gateway. Close ends it.
func New(config Config) *Gateway {
	g := &Gateway{
		config: config, log: config.Log, routes: table(), mux: http.NewServeMux(),
		calls:   places{limit: maxCalls, ofAddress: maxCallsOfAddress},
		streams: places{limit: maxStreams, ofAddress: maxStreamsOfAddress},
		stays:   newStays(maxStays),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.callers.open = config.Open
	g.measured = make(chan struct{}, 1)
	g.working.Go(g.keepWhole)
	if config.Note != nil {
		g.acts.queue = make(chan Act, actsAtOnce)
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

// writeMetrics writes what the gateway counts.
func (g *Gateway) writeMetrics(w io.Writer) {
	fmt.Fprintf(w, "signalbox_http_calls %d\nsignalbox_http_streams %d\n", g.calls.taken(), g.streams.taken())
	for reason, count := range map[string]uint64{
		"CALLS": g.calls.refused.Load(), "STREAMS": g.streams.refused.Load(), "BODY": g.unfinished.Load(),
	} {
		fmt.Fprintf(w, "signalbox_http_requests_refused_total{reason=%q} %d\n", reason, count)
	}
}

// Close ends what is under way, lets sessions go with what they have left, and closes the clients.
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
		w.Header().Set("Connection", "close") // unless the body is read: nothing waits for one that is not wanted
	}
	if refusal := g.admit(r); refusal != nil {
		refusal.write(w)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// serveRoute serves one request by the rights of its token.
func (g *Gateway) serveRoute(of *route, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	if r.Method == http.MethodHead && of.streams != "" {
		g.serveOther(w, r) // what has no end has no head
		return
	}
	c := &call{
		gateway: g, w: w, conn: httpdoor.Of(r), from: g.config.Proxies.Client(r), address: r.RemoteAddr,
	}
	if c.from != httpdoor.Address(r.RemoteAddr) {
		c.address = c.from.String() + " through " + r.RemoteAddr
	}
	if of.audited() {
		ctx = raw.OnBehalf(ctx, c.address)
	}
	r = r.WithContext(ctx)
	c.r = r
	c.conn.Counts(c.from)
	err := g.identify(c, of)
	if c.caller != nil {
		defer g.callers.release(c.caller)
	}
	c.conn.Shown(c.shown())
	if err == nil {
		err = c.receive()
	}
	if err == nil {
		err = c.serveInPlace(of)
	}
	if err != nil {
		g.refuse(c, err)
		return
	}
	c.deliver()
}

// refuse answers a request that is not carried out. A token that is accepted no more is forgotten, and a sign-in goes
// with its token.
func (g *Gateway) refuse(c *call, err error) {
	err = g.callers.refusedNow(c.caller, c.token, err)
	p := problemOf(err)
	if c.r.Method != http.MethodPost {
		p = readProblem(err)
	}
	if p.Code == http.StatusUnauthorized {
		c.conn.Shown(false)
		if c.byCookie {
			g.forget(c.w, c.r)
		}
	}
	p.write(c.w)
}

// identify finds out whose request it is.
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
	c.caller, err = g.callers.acquire(ctx, token)
	c.spent = time.Since(began)
	return err
}
