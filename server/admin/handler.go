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

// Options configures the admin pages.
type Options struct {
	// Pprof also serves the profiler.
	Pprof bool
	// Names lists additional host names that requests may use, besides IP addresses and localhost.
	Names Names
}

// Names lists additional host names that requests may use, besides IP addresses and localhost.
type Names = allowedhosts.Names

// Handler returns a handler for the admin pages.
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

// guard refuses requests for unknown host names. Liveness is not secret, so liveness checks may use any name for the
// host.
func guard(names Names, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(livePaths, r.URL.Path) && !names.Allow(r.Host) {
			writeText(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"the host name %q is not allowed; use an IP address or localhost, or add the name to "+
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

// healthPath is the common prefix of health paths, and tolerancePath is the failure tolerance page.
const (
	healthPath    = "/health/"
	tolerancePath = healthPath + "failure-tolerance"
)

// livePaths are the liveness paths and readyPaths the readiness paths. The second path in each is the Kubernetes name
// for the page.
var (
	livePaths  = []string{healthPath + "live", "/livez"}
	readyPaths = []string{healthPath + "ready", "/readyz"}
)

// healthAlias reports whether a path is an alias for a health page.
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

// live confirms that the process answers. live ignores faults that a restart cannot repair: a partitioned host is
// alive.
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

// NotReady returns why a host with the given check results is not ready, or an empty string if the host is ready.
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
