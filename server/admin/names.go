package admin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Names are the names that a host is asked for by. A browser that a hostile page has led here, by a name of its own
// that resolves to this address, says that name in its request and is refused: DNS rebinding.
type Names []string

// allows reports whether a request may say that it is for this host: by a number, as localhost, or by one of the names.
// No name at all comes from no browser.
func (n Names) allows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, name := range n {
		if strings.EqualFold(host, strings.TrimSuffix(name, ".")) {
			return true
		}
	}
	return false
}

// guard refuses requests for other names. Whether the process is alive is no secret, and a health check may use any
// name for the host.
func (n Names) guard(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != livePath && !n.allows(r.Host) {
			writeText(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"this host is not asked for as %q: use its address or localhost, or start it with --http-names\n",
				r.Host))
			return
		}
		pages.ServeHTTP(w, r)
	})
}
