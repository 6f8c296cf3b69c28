// Package allowedhosts checks the host names in HTTP requests.
package allowedhosts

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Names are the names that a host is asked for by. A browser that a hostile page has led here, by a name of its own
// that resolves to this address, says that name in its request and is refused: DNS rebinding.
type Names []string

// Allow reports whether a request may say that it is for this host: by a number, as localhost, or by one of the names.
// No name at all comes from no browser.
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
