package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/internal/allowedhosts"
)

// Options sets the pages up.
type Options struct {
	// Pprof serves the profiler as well.
	Pprof bool
	// Names are the names by which requests may address the host, besides addresses and localhost.
	Names Names
}

// Names are the names by which requests may address a host, besides addresses and localhost.
type Names = allowedhosts.Names

// Handler returns the pages of a host.
func Handler(host Host, options Options) http.Handler {
	p := &pages{host: host, pprof: options.Pprof}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.index)
	for _, path := range livePaths {
		mux.HandleFunc("GET "+path, p.live)
	}
	for _, path := range readyPaths {
		mux.HandleFunc("GET "+path, p.ready)
	}
	mux.HandleFunc("GET /metrics", p.metrics)
	mux.HandleFunc("GET /status", p.status)
	mux.HandleFunc("GET /cluster", p.cluster)
	mux.HandleFunc("GET "+tolerancePath, p.tolerance)
	if options.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return guard(options.Names, mux)
}

// guard refuses requests for foreign names. The life of the process is no secret, so a health check of the process
// may use any name for the host.
func guard(names Names, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(livePaths, r.URL.Path) && !names.Allow(r.Host) {
			writeText(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"this host is not asked for as %q: use its address or localhost, or start it with "+
					"--http-allowed-hosts\n",
				r.Host))
			return
		}
		pages.ServeHTTP(w, r)
	})
}

type pages struct {
	host  Host
	pprof bool
}

// healthPath begins the paths of health, and tolerancePath is the path of the cluster's failure tolerance.
const (
	healthPath    = "/health/"
	tolerancePath = healthPath + "failure-tolerance"
)

// livePaths are the paths of the process alone, readyPaths the paths of the host's readiness. The second of each is the
// name that Kubernetes has for the page.
var (
	livePaths  = []string{healthPath + "live", "/livez"}
	readyPaths = []string{healthPath + "ready", "/readyz"}
)

// healthAlias reports whether a path is another name for a page of health.
func healthAlias(path string) bool { return path == livePaths[1] || path == readyPaths[1] }

const textPlain = "text/plain; charset=utf-8"

func writeText(w http.ResponseWriter, code int, text string) { write(w, code, textPlain, []byte(text)) }

func write(w http.ResponseWriter, code int, kind string, page []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(page)
}

func (p *pages) index(w http.ResponseWriter, _ *http.Request) {
	text := "Signalbox\n\n" +
		"/health/live, /livez        is the process alive?\n" +
		"/health/ready, /readyz      does the host serve? ?verbose lists every check\n" +
		"/health/failure-tolerance   can every shard lose a host?\n" +
		"/metrics                    for Prometheus\n" +
		"/status                     the host and its shards, as JSON\n" +
		"/cluster                    all hosts with their health issues, as JSON\n"
	if p.pprof {
		text += "/debug/pprof/               the Go profiler\n"
	}
	writeText(w, http.StatusOK, text)
}

// live says that the process answers. live does not check faults that survive a restart: a host cut off from the
// other hosts is alive.
func (p *pages) live(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "alive\n")
}

func (p *pages) ready(w http.ResponseWriter, r *http.Request) {
	checks := p.host.Checks()
	code, first := http.StatusOK, "ready\n"
	if reason := NotReady(checks); reason != "" {
		code, first = http.StatusServiceUnavailable, "not ready: "+reason+"\n"
	}
	if !r.URL.Query().Has("verbose") {
		writeText(w, code, first)
		return
	}
	var b strings.Builder
	b.WriteString(first)
	for _, c := range checks {
		switch {
		case c.Err == nil:
			fmt.Fprintf(&b, "[ok]      %s\n", c.Name)
		case c.Advisory:
			fmt.Fprintf(&b, "[warning] %s: %v\n", c.Name, c.Err)
		default:
			fmt.Fprintf(&b, "[failed]  %s: %v\n", c.Name, c.Err)
		}
	}
	writeText(w, code, b.String())
}

// NotReady is why a host with the given checks is not ready, empty for a ready host.
func NotReady(checks []Check) string {
	var reasons []string
	for _, c := range checks {
		if c.Err != nil && !c.Advisory {
			reasons = append(reasons, c.Err.Error())
		}
	}
	return strings.Join(reasons, "; ")
}

func (p *pages) metrics(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	p.host.WriteMetrics(&b)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(expose(b.Bytes()))
}

func (p *pages) status(w http.ResponseWriter, _ *http.Request) {
	s := p.host.Status()
	checks := p.host.Checks()
	s.NotReady = NotReady(checks)
	s.Ready = s.NotReady == ""
	if s.Shards == nil {
		s.Shards = []ShardStatus{}
	}
	if s.Cluster.Hosts == nil {
		s.Cluster.Hosts = []HostRecord{}
	}
	writeJSON(w, http.StatusOK, s, nil)
}
