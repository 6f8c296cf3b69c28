package httplimit

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestTheClientIsWhoTrustedProxiesName: read from the right, and other names are ignored.
func TestTheClientIsWhoTrustedProxiesName(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/48")}
	const plain, structured = "X-Forwarded-For", "Forwarded"
	for _, c := range []struct {
		what, peer string
		headers    []string // by name and value
		client     string
	}{
		{"no proxy", "192.0.2.1:7", nil, "192.0.2.1"},
		{"no proxy that names another", "192.0.2.1:7", []string{plain, "198.51.100.1"}, "192.0.2.1"},
		{"a proxy that names nobody", "10.0.0.1:7", nil, "10.0.0.1"},
		{"a proxy", "10.0.0.1:7", []string{plain, "198.51.100.1"}, "198.51.100.1"},
		{"a client that invents one", "10.0.0.1:7", []string{plain, "203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"a client that invents a proxy", "10.0.0.1:7", []string{plain, "10.0.0.9, 198.51.100.1"}, "198.51.100.1"},
		{"two lines", "10.0.0.1:7", []string{plain, "203.0.113.9", plain, "198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:7", []string{plain, "198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"proxies only", "10.0.0.1:7", []string{plain, "10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"what is no address", "10.0.0.1:7", []string{plain, "198.51.100.1, unknown"}, "10.0.0.1"},
		{"what is no address behind a proxy", "10.0.0.1:7", []string{plain, "x, 10.0.0.2"}, "10.0.0.2"},
		{"with a port", "10.0.0.1:7", []string{plain, "198.51.100.1:80"}, "198.51.100.1"},
		{"the other header", "10.0.0.1:7", []string{structured, `for=203.0.113.9, proto=http;For="198.51.100.1:80"`},
			"198.51.100.1"},
		{"IPv6 in it", "10.0.0.1:7", []string{structured, `for="[2001:db9::1]:80";by=10.0.0.1`}, "2001:db9::1"},
		{"a hidden one", "10.0.0.1:7", []string{structured, `for=198.51.100.1, for=_hidden`}, "10.0.0.1"},
		{"one without the parameter", "10.0.0.1:7", []string{structured, `proto=http`}, "10.0.0.1"},
		{"both headers", "10.0.0.1:7", []string{plain, "198.51.100.1", structured, "for=203.0.113.9"}, "10.0.0.1"},
		{"a proxy by IPv6", "[2001:db8::1]:7", []string{plain, "2001:db9::1"}, "2001:db9::1"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:7", []string{plain, "::ffff:198.51.100.1"}, "198.51.100.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: make(http.Header)}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		if got := proxies.Client(r); got.String() != c.client {
			t.Errorf("%s: %v, not %s", c.what, got, c.client)
		}
	}
}
