package http

import (
	"context"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// groupConsole has the routes that need no caller: they are for the sign-in.
const groupConsole = "Sign-in"

// table returns all routes. A row is the whole of a route: its handler, its place in the OpenAPI document and its line
// in the docs come from it.
func table() []route {
	return slices.Concat(
		nodeRoutes(), semaphoreRoutes(), ownSessionRoutes(), sessionRoutes(), lookupRoutes(), rolloutRoutes(),
		processRoutes(), clusterRoutes(), joinRoutes(), accessRoutes(), historyRoutes(), searchRoutes(), loadRoutes(),
		eventRoutes(), signInRoutes(),
	)
}

func eventRoutes() []route {
	return []route{
		stream(http.MethodGet, "/events", "Events", "see",
			"Shows what other routes answer, now and whenever that has changed", "text/event-stream", events),
	}
}

// signInRoutes are for browsers, which show a cookie in place of the token.
func signInRoutes() []route {
	in := post("/sign-in", groupConsole, "none", "Has the browser show a cookie in place of a token",
		func(ctx context.Context, c *call, q *signInRequest) (done, error) { return c.gateway.signIn(ctx, c, q) })
	out := post("/sign-out", groupConsole, "none", "Ends that",
		func(_ context.Context, c *call, _ *none) (done, error) { return c.gateway.signOut(c), nil })
	is := get("/sign-in", groupConsole, "none", "Says whether there is a cookie, and if a browser may change anything",
		func(_ context.Context, c *call, _ *none) (signedIn, error) { return c.gateway.signedIn(c.r), nil })
	is.follow = nil // a stream of the caller has no cookie
	return []route{in, out, is}
}

// pages serves the files of the console. Every path without an extension is one of its pages, which the browser finds
// in the one document that there is.
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

// refuseUnknown answers requests for which there is no route.
func refuseUnknown(w http.ResponseWriter, r *http.Request) {
	detail := "there is no route " + r.Method + " " + r.URL.Path + ": GET " + version + "/openapi.json describes all"
	refuse(protocol.StatusNotFound, detail).write(w)
}

// serveDocument answers with the OpenAPI document.
func serveDocument(w http.ResponseWriter, _ *http.Request) {
	writeBody(w, http.StatusOK, "application/json", document())
}
