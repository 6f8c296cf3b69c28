package http

import (
	"cmp"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// groupConsole has the routes without a caller: routes for the sign-in.
const groupConsole = "Sign-in"

// groups are the docs headings, in order.
var groups = []string{
	"Nodes", "Semaphores", "Own sessions", "Sessions", "Discovery, config, elections", "Rollouts", "Processes", "Hosts",
	"Access", "History and backups", "Names", "Events", groupConsole,
}

// table returns all routes by group: the routes with own code, and the plain operations without such a route. The
// handler of a route, the place in the OpenAPI document and the line in the docs come from the row.
func table() []route {
	own := slices.Concat(ownSessionRoutes(), clusterRoutes(), loadRoutes(), []route{
		stream(get, "/events", "Events", "read", "Streams a route's responses, now and after every change",
			eventStreamType, events),
	}, signInRoutes())
	plain := slices.DeleteFunc(routesOf(operation.All()), func(r route) bool {
		return slices.ContainsFunc(own, func(o route) bool { return o.method == r.method && o.path == r.path })
	})
	all := append(plain, own...)
	slices.SortStableFunc(all, func(a, b route) int {
		return cmp.Compare(slices.Index(groups, a.group), slices.Index(groups, b.group))
	})
	return all
}

// signInRoutes are for browsers, which send a cookie in place of the token.
func signInRoutes() []route {
	in := answering(post, "/login", groupConsole, "none", "Exchanges a token for a login cookie", signIn)
	out := answering(post, "/logout", groupConsole, "none", "Deletes the login cookie", signOut)
	is := answering(get, "/login", groupConsole, "none",
		"Returns whether a login cookie is present, and whether browsers may make changes", isSignedIn)
	is.follow = nil // a caller's stream has no cookie
	return []route{in, out, is}
}

// pages serves the console files. Every path without an extension is a console page, and the browser finds all pages in
// a single document.
func pages(files fs.FS) http.Handler {
	served := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if path.Ext(r.URL.Path) == "" {
			http.ServeFileFS(w, r, files, "index.html")
			return
		}
		served.ServeHTTP(w, r)
	})
}

// serveOther answers requests without a route: the answer names the routes to use instead.
func (g *Gateway) serveOther(w http.ResponseWriter, r *http.Request) {
	allowed := g.methods(r.URL.Path)
	if len(allowed) == 0 {
		detail := "unknown route " + r.Method + " " + r.URL.Path + ": GET " + version +
			"/openapi.json lists all routes"
		refuse(protocol.StatusNotFound, detail).write(w)
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	refuseCode(http.StatusMethodNotAllowed, protocol.StatusBadRequest, "unknown route "+r.Method+" "+r.URL.Path,
		"use "+list).write(w)
}

// methods returns the methods allowed for a path; empty for an unknown path.
func (g *Gateway) methods(path string) (list []string) {
	for i := range g.routes {
		r := &g.routes[i]
		if r.path != path {
			continue
		}
		list = append(list, r.method)
		if r.method == http.MethodGet && r.streams == "" {
			list = append(list, http.MethodHead)
		}
	}
	console := g.config.Files != nil && !strings.HasPrefix(path, version+"/")
	if console || path == version+"/openapi.json" {
		list = append(list, http.MethodGet, http.MethodHead)
	}
	if len(list) > 0 {
		list = append(list, http.MethodOptions)
	}
	return list
}

// serveDocument answers with the OpenAPI document.
func serveDocument(w http.ResponseWriter, _ *http.Request) {
	writeBody(w, http.StatusOK, "application/json", document())
}
