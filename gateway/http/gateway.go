package http

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/httpname"
	"github.com/signalbox/signalbox/protocol"
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
	// Log receives what goes wrong. Nil means no log.
	Log *slog.Logger
}

// The limits of a gateway. They bound its memory and what it asks of the hosts, whatever its callers do.
const (
	// maxCalls is how many requests are carried out at once, maxStreams how many of them may be event streams, and
	// maxStreamsOfAddress how many of those of one address.
	maxCalls            = 1024
	maxStreams          = 768
	maxStreamsOfAddress = 256
	maxHeaderBytes      = 16 << 10
	headerTimeout       = 5 * time.Second
	readTimeout         = 30 * time.Second
	idleTimeout         = 2 * time.Minute
)

// Gateway serves the HTTP API. It is an http.Handler, and safe for use by many goroutines.
type Gateway struct {
	config  Config
	log     *slog.Logger
	routes  []route
	mux     *http.ServeMux
	calls   chan struct{} // has an entry for each request under way
	callers callers
	cookies cookies
	streams streams
	loads   loads
	whole   wholeLoads
	acts    acts
	working sync.WaitGroup  // for what runs until Close
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
}

// New makes a gateway. Close ends it.
func New(config Config) *Gateway {
	g := &Gateway{
		config: config, log: config.Log, routes: table(), mux: http.NewServeMux(), calls: make(chan struct{}, maxCalls),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.callers.open = config.Open
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
	g.mux.HandleFunc(version+"/", refuseUnknown)
	if config.Files != nil {
		g.mux.Handle("/", pages(config.Files))
	} else {
		g.mux.HandleFunc("/", refuseUnknown)
	}
	return g
}

// Close ends what is under way, and closes the clients.
func (g *Gateway) Close() {
	g.cancel()
	g.working.Wait()
	g.callers.close()
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if refusal := g.admit(r); refusal != nil {
		refusal.write(w)
		return
	}
	select {
	case g.calls <- struct{}{}:
		defer func() { <-g.calls }()
		g.mux.ServeHTTP(w, r)
	default:
		refuse(protocol.StatusOverloaded, "too many requests are under way").write(w)
	}
}

// serveRoute serves one request by the rights of its token.
func (g *Gateway) serveRoute(of *route, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	if r.Method != of.method { // HEAD, which the patterns for GET take too
		refuseCode(http.StatusMethodNotAllowed, protocol.StatusBadRequest, "there is no "+r.Method+" "+of.path,
			"use "+of.method).write(w)
		return
	}
	r = r.WithContext(ctx)
	c := &call{gateway: g, w: w, r: r}
	err := g.identify(c, of)
	if err == nil {
		if c.caller != nil {
			defer g.callers.release(c.caller)
		}
		err = of.serve(c)
		g.note(c, of, err)
	}
	if err != nil {
		problemOf(err).write(w)
	}
}

// identify finds out whose request it is.
func (g *Gateway) identify(c *call, of *route) error {
	token, byCookie, err := g.token(c.r)
	c.token = token
	if err != nil || of.group == groupConsole {
		return err
	}
	if of.changes() {
		if err := g.admitChange(c.r, token, byCookie); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), callTimeout)
	defer cancel()
	c.caller, err = g.callers.acquire(ctx, token)
	if byCookie && problemCode(err) == http.StatusUnauthorized {
		g.forget(c.w, c.r) // the sign-in goes with its token
	}
	return err
}
