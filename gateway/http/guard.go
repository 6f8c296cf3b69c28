package http

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/signalbox/signalbox/protocol"
)

// actionHeader is in every change requested by the console: a form on another site cannot send the header.
const actionHeader = "Signalbox-Console"

// policy keeps the pages from running or loading foreign content.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// protect sets the headers for all responses.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// admit rejects requests that another site's page makes a browser send, whatever their purpose. Such requests use a
// foreign name, come from another site, or are sent as a form.
func (g *Gateway) admit(r *http.Request) *problem {
	if !g.config.Names.Allow(r.Host) {
		return refuseCode(http.StatusMisdirectedRequest, protocol.StatusBadRequest,
			"the host name is not allowed: "+r.Host, "use an IP address or localhost, or add the name to "+
				"--http-allowed-hosts")
	}
	if !strings.HasPrefix(r.URL.Path, version+"/") {
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "cross-site" || site == "same-site" || !g.ownOrigin(r) {
		return refuseCode(http.StatusForbidden, protocol.StatusUnauthorized, "the request comes from a page of "+
			"another site",
			"send the request from a page of this host, or from a program")
	}
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return refuseCode(http.StatusUnsupportedMediaType, protocol.StatusBadRequest,
				"the body of a change must be JSON", "send the header Content-Type: application/json")
		}
	}
	return nil
}

// ownOrigin reports whether the request comes from this host's page, or from no page.
func (g *Gateway) ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	at, err := url.Parse(origin)
	scheme := "http"
	if g.config.Secure {
		scheme = "https"
	}
	return err == nil && at.Scheme == scheme && strings.EqualFold(at.Host, r.Host)
}

// byBrowser reports whether a browser has sent a request: browsers set headers that pages cannot set.
func byBrowser(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
}

// admitChange rejects changes that the console, or a page imitating it, may not request.
func (g *Gateway) admitChange(r *http.Request, token string, byCookie bool) error {
	if byCookie && (r.Header.Get(actionHeader) == "" || r.Header.Get("Origin") == "") {
		return refuseCode(http.StatusForbidden, protocol.StatusUnauthorized,
			"a change with a login cookie needs the header "+actionHeader+" and the origin of this host",
			"send a token in the header Authorization instead")
	}
	if token == "" && byBrowser(r) && !g.config.Actions {
		return refuseCode(http.StatusForbidden, protocol.StatusUnauthorized,
			"the console is read-only without a token",
			"sign in with a token, or start the host with --console-anonymous-writes")
	}
	return nil
}
