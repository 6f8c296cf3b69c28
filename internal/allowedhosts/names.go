// Package allowedhosts checks the host names in HTTP requests.
package allowedhosts

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Names are the host names that requests may use. In a DNS rebinding attack, a hostile page's own name resolves to this
// address; the browser sends that name in its request, which is then rejected.
type Names []string

// Allow reports whether a request may address this host as host: by IP address, as localhost, or by a listed name. An
// empty host is allowed because browsers always send a host.
func (n Names) Allow(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if _, err := netip.ParseAddr(host); err == nil || host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	return slices.ContainsFunc(n, func(name string) bool {
		return strings.EqualFold(host, strings.TrimSuffix(name, "."))
	})
}
